//! What is known of radios: loss models, links and media, emulated without any clock of their own.

//! `overheard-lab analyze`: what each method would save on captures, the papers' policies among them.

/// Compute the savings on captures, by the product's methods and the papers' policies
#[derive(clap::Args)]
#[command(after_long_help = METHODS)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    args: console::analyze::Args,
}

const METHODS: &str = "\
The methods of `overheard analyze --help`, and its encoder by the papers' reference policies:
  naive         any earlier packet
  k-distance    packets since the last reference, one in 8
  tcp-seq       segments with a lower sequence
  cache-flush   packets since the last retransmission

Policies are compared without losses. Informed marking and retrieve-on-miss then do what naive does, and are left out.";

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::analyze::run_with(&args.args, published::policy::ON_CAPTURES.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, Command};

    #[test]
    fn the_help_names_the_papers_policies_and_not_the_products_own_methods() {
        let help = Args::augment_args(Command::new("analyze")).render_long_help().to_string();
        for policy in published::policy::ON_CAPTURES {
            assert!(
                policy == re::Policy::Acked || help.contains(&format!("\n  {policy} ")),
                "{policy}: {help}"
            );
        }
        assert!(!help.contains("whole-packet"), "{help}");
    }
}

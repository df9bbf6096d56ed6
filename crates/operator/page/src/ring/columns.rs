//! Samples whose fields are columns.

/// Defines two types from a list of names: a [`Sample`](crate::ring::Sample) of one step with a number for
/// each name, and the steps by columns with a list for each name. *Counts* of several steps add up; of
/// *states* the highest counts. serde reads and writes columns under their names.
#[macro_export]
macro_rules! columns {
    (
        $(#[$sample_about:meta])* sample $sample:ident
        $(#[$columns_about:meta])* columns $columns:ident
        counts { $($(#[$count_about:meta])* $count:ident,)* }
        states { $($(#[$state_about:meta])* $state:ident,)* }
    ) => {
        $(#[$sample_about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $sample {
            $($(#[$count_about])* pub $count: u64,)*
            $($(#[$state_about])* pub $state: u64,)*
        }

        impl $crate::ring::Sample for $sample {
            type Columns = $columns;

            fn then(&mut self, later: &Self) {
                $(self.$count += later.$count;)*
                $(self.$state = self.$state.max(later.$state);)*
            }

            fn push_to(&self, columns: &mut $columns) {
                $(columns.$count.push(self.$count);)*
                $(columns.$state.push(self.$state);)*
            }
        }

        $(#[$columns_about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $columns {
            $($(#[$count_about])* pub $count: Vec<u64>,)*
            $($(#[$state_about])* pub $state: Vec<u64>,)*
        }

        impl $columns {
            /// The steps, up to the shortest column.
            pub fn samples(&self) -> impl ExactSizeIterator<Item = $sample> + '_ {
                let steps = [$(self.$count.len(),)* $(self.$state.len(),)*].into_iter().min().unwrap_or(0);
                (0..steps).map(|at| $sample {
                    $($count: self.$count[at],)*
                    $($state: self.$state[at],)*
                })
            }
        }
    };
}

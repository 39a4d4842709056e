//! Tasks.
use super::{AsCode, Site, Way, curl, shell};
use model::TaskId;

pub fn thing(site: &Site, id: TaskId) -> AsCode {
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("api/task/{id}"))).but("The answer waits a moment for its end."),
        Way::code(shell::vcd(["task", "info", &id.to_string()]))
            .but("vcd task wait, in the place of info, waits for its end."),
        Way::none("Terraform waits for the tasks that it begins by itself, and looks at no others."),
    )
}

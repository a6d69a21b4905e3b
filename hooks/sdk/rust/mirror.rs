//! Lets pip use the config's mirror, and refuses to delete everything.
mod hook;
use hook::Decision;

#[no_mangle]
pub extern "C" fn pre_exec() -> i32 {
    hook::pre(|| {
        if hook::command().contains("rm -rf /") {
            return Ok(Decision::Deny("refusing to delete /".into()));
        }
        if let Some(url) = hook::config("mirror") {
            hook::set_env("PIP_INDEX_URL", &url)?;
        }
        Ok(Decision::Run)
    })
}

"""A browser, and what a person does with it: look, wait, resize, switch to dark."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.patience import PATIENCE

T = TypeVar("T")
GET_IT = "apt-get install chromium chromium-driver"
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--mute-audio", "--hide-scrollbars",
    "--autoplay-policy=no-user-gesture-required",
)  # fmt: skip
TEXT = "const found = document.querySelector(arguments[0]); return found && [found.textContent]"


def require_browser() -> tuple[str, str]:
    """Where the browser and its driver are; without them the test is skipped, but never in CI."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if found[0] and found[1]:
        return found[0], found[1]
    reason = f"needs a browser: {GET_IT}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Screen:
    def __init__(self, site: str, profile: Path, *arguments: str) -> None:
        browser, driver = require_browser()
        options = ChromeOptions()
        options.binary_location = browser
        for argument in (*ARGUMENTS, f"--user-data-dir={profile}", *arguments):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.site = site
        self.driver = Chrome(options=options, service=ChromeService(driver))
        self.driver.set_script_timeout(PATIENCE)

    def open(self, address: str) -> None:
        self.driver.get(self.site + address)

    def quit(self) -> None:
        self.driver.quit()

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def finish(self, script: str, *arguments: Any) -> Any:
        """Run a script that calls `done` when it has come to its end."""
        return self.driver.execute_async_script(f"const done = arguments[arguments.length - 1];{script}", *arguments)

    def find(self, selector: str) -> WebElement:
        """Waits for it: a click may return before the page that it leads to has come."""
        found = self.wait(lambda: self.driver.find_elements(By.CSS_SELECTOR, selector), f"{selector} is there")
        return found[0]

    def text(self, selector: str) -> str:
        """Waits for it, too; read in one step, for a page that follows its job may replace the element meanwhile."""
        found = self.wait(lambda: self.run(TEXT, selector), f"{selector} is there")
        return str(found[0]).strip()

    def is_shown(self, selector: str) -> bool:
        return self.driver.find_element(By.CSS_SELECTOR, selector).is_displayed()

    def has(self, selector: str) -> bool:
        return bool(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def wait(self, condition: Callable[[], T], what: str) -> T:
        """Until it is true; asked again and again, for a page tells nobody when it has changed."""
        return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: condition(), what)

    def complaints(self) -> list[str]:
        """What the browser's console has said since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def resize(self, width: int, height: int) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def scheme(self, name: str) -> None:
        """`light` or `dark`, as the person's system says."""
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def log_in(self, cookie: str) -> None:
        self.open("/accounts/login/")  # a cookie can only be given to the site that is open
        self.driver.add_cookie({"name": "sessionid", "value": cookie})

    def save_picture(self, name: str) -> None:
        """For people who want to look: SCREENSHOTS=folder keeps a picture of each."""
        if folder := os.environ.get("SCREENSHOTS"):
            height = self.run("return document.documentElement.scrollHeight")
            self.resize(self.run("return innerWidth"), max(height, 300))
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

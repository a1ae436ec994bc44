// Says why, where a browser cannot play the video.
"use strict";
{
  const player = document.getElementById("player");
  const reveal = (id) => { document.getElementById(id).hidden = false; };

  if (player.canPlayType("application/vnd.apple.mpegurl") === "") {
    player.removeAttribute("src");
    player.removeAttribute("controls");
    reveal("cannot-play");
  } else {
    const told = () => reveal("playback-failed");
    player.addEventListener("error", told);
    if (player.error) told(); // it came before we listened
  }
}

// The secret of this address, which no other port can read; then on, without the token.
import { SECRET } from "./dom.js";

sessionStorage.setItem(SECRET, document.body.dataset.secret);
location.replace(document.body.dataset.target);

// What scrolls, or may when the window is narrowed, can be reached by the keyboard, though the theme takes
// it away; buttons that copy are no landmarks.
const mend = () => {
  for (const each of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (each.tabIndex) each.tabIndex = 0;
  }
  for (const each of document.querySelectorAll(".md-code__nav")) each.setAttribute("role", "none");
};
const what = { childList: true, subtree: true, attributeFilter: ["tabindex"] };
new MutationObserver(mend).observe(document.body, what);
mend();

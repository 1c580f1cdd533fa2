// What scrolls can be reached by the keyboard; buttons that copy are no landmarks.
const mend = () => {
  for (const each of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) each.tabIndex = 0;
  for (const each of document.querySelectorAll(".md-code__nav")) each.setAttribute("role", "none");
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();

/** The style of the reference page. Text colours reach 4.5:1 on their grounds, in the light and in the dark. */
export const REFERENCE_STYLE = `
:root {
  color-scheme: light dark;
  --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace;
  --ground: light-dark(#ffffff, #131417);
  --sunk: light-dark(#f6f6f5, #0d0e10);
  --line: light-dark(#e7e7e4, #26282d);
  --ink: light-dark(#1b1c1f, #e8e9ec);
  --soft: light-dark(#5c5f66, #a6a9b1);
  --accent: light-dark(#4353d6, #939fff);
  --get: light-dark(#1f5fae, #7fb4f5);
  --post: light-dark(#17703f, #5fca8c);
  --patch: light-dark(#8a5300, #e5ac4d);
  --delete: light-dark(#b3261e, #f58a82);
}
* { box-sizing: border-box }
html { scroll-padding-top: 24px }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.6 var(--sans) }
a { color: var(--accent); text-decoration: none }
a:hover { text-decoration: underline }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px }
code, pre, .path { font-family: var(--mono); font-size: 13px }
code { overflow-wrap: anywhere }
p { margin: 0 0 12px }
p code, td code, li code { background: var(--sunk); border: 1px solid var(--line); border-radius: 4px; padding: 0 4px }
h1 { font-size: 24px; line-height: 1.3; margin: 0 0 4px; letter-spacing: -0.01em }
h2 { font-size: 20px; line-height: 1.3; margin: 0 0 4px; letter-spacing: -0.01em }
h3 { font-size: 16px; line-height: 1.4; margin: 0 0 4px }
h4 { font-size: 13px; margin: 20px 0 8px; color: var(--soft); font-weight: 600 }
nav { background: var(--sunk); padding: 16px 20px; font-size: 14px }
nav summary { cursor: pointer; font-weight: 600 }
nav ul { list-style: none; margin: 4px 0 16px; padding: 0 }
nav li a { display: block; padding: 3px 0; color: var(--soft) }
nav li a:hover { color: var(--ink) }
nav b { display: block; font-size: 13px; margin-top: 12px }
nav b a { color: var(--ink) }
main { padding: 24px 20px 64px; max-width: 1240px }
.facts { color: var(--soft); margin-bottom: 24px }
section.group { margin-top: 48px }
section.group > p { color: var(--soft) }
article { border-top: 1px solid var(--line); padding: 28px 0 }
.call { display: flex; gap: 8px; align-items: baseline; flex-wrap: wrap; margin-bottom: 12px }
.method { font: 600 12px var(--mono) }
.get { color: var(--get) } .post { color: var(--post) } .patch { color: var(--patch) } .delete { color: var(--delete) }
.path { overflow-wrap: anywhere }
.tag { font-size: 12px; color: var(--soft); border: 1px solid var(--line); border-radius: 999px; padding: 0 8px }
.fields { border-collapse: collapse; width: 100% }
.fields td { border-top: 1px solid var(--line); padding: 8px 12px 8px 0; vertical-align: top; font-size: 14px }
.fields tr:first-child td { border-top: 0 }
.fields td:first-child { width: 34%; overflow-wrap: anywhere }
.fields td:first-child code { background: none; border: 0; padding: 0; font-weight: 600 }
.type { display: block; color: var(--soft); font-size: 12px }
.must { color: var(--delete) }
.fields .fields { margin: 8px 0 0; border-left: 2px solid var(--line) }
.fields .fields td { padding-left: 12px }
details.inner { margin-top: 4px }
details.inner > summary, details.answer > summary { cursor: pointer; color: var(--accent); font-size: 13px }
details.answer { margin: 0 0 8px }
pre { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; padding: 12px; overflow: auto; margin: 0 0 12px; line-height: 1.5; max-height: 480px }
.errors { font-size: 13px; color: var(--soft) }
@media (min-width: 960px) {
  body { display: grid; grid-template-columns: 264px minmax(0, 1fr) }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-right: 1px solid var(--line); padding: 24px 20px }
  nav summary { list-style: none; cursor: default }
  nav summary::-webkit-details-marker { display: none }
  nav details::details-content { content-visibility: visible; display: block }
  main { padding: 40px 48px 96px }
}
@media (max-width: 959px) { nav { border-bottom: 1px solid var(--line) } }
@media (min-width: 1200px) {
  .columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 440px); gap: 48px }
  .intro { max-width: 720px }
}
`

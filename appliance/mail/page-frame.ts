/**
 * The frame of public pages in a team's design: preferences, sign-up forms. Pure; the dashboard previews the pages, so
 * it can't use Node APIs.
 */
import {
  pickTextColor,
  deriveDarkColors,
  type PageColors,
  type PageLanguage,
  type UnsubscribePage,
} from './unsubscribe-page.ts'

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for HTML, also within quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)

/** The page, and its style, which the Content-Security-Policy must allow. */
export interface RenderedPage {
  style: string
  html: string
}

/** The design of a page, and the team that it belongs to. */
export interface PageFrame {
  page: UnsubscribePage
  language: PageLanguage
  /** The team's name; empty to show no name. */
  team: string
  /** More elements of the head, as HTML. */
  head?: string
  /** Whether search engines may list the page; absent: no. */
  indexed?: boolean
}

/** Renders a page around its content, which must be HTML. `more` is additional CSS for this page. */
export function renderPageFrame(
  { page, language, team, head = '', indexed = false }: PageFrame,
  heading: string,
  body: string,
  more = '',
): RenderedPage {
  const style = styleOf(page) + more
  const name = escapeHtml(team)
  const logo = page.logo === null ? name : `<img src="${escapeHtml(page.logo)}" alt="${name}">`
  const postal = page.postalAddress === null ? '' : `<address>${escapeHtml(page.postalAddress)}</address>`
  const html = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${indexed ? '' : '<meta name="robots" content="noindex, nofollow">\n'}<meta name="referrer" content="no-referrer">
<title>${escapeHtml(heading)}${name && ` · ${name}`}</title>
${head && `${head}\n`}<style>${style}</style>
</head>
<body>
${name && `<header>${logo}</header>`}
<main>
<h1>${escapeHtml(heading)}</h1>
${body}
</main>
${postal && `<footer>${postal}</footer>`}
</body>
</html>
`
  return { style, html }
}

const variables = ({ background, text, accent }: PageColors): string =>
  `--ground:${background};--ink:${text};--accent:${accent};--on-accent:${pickTextColor(accent)}`

/** Border color with enough contrast against the background. */
const LINE = `color-mix(in srgb, var(--ink) 55%, var(--ground))`

function styleOf({ background, text, accent }: UnsubscribePage): string {
  const day = { background, text, accent }
  return `
:root{color-scheme:light;${variables(day)};--line:${LINE};font:16px/1.5 system-ui,sans-serif}
@media (prefers-color-scheme:dark){:root{color-scheme:dark;${variables(deriveDarkColors(day))}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:34rem;min-height:100vh;padding:2rem 1.25rem;background:var(--ground);color:var(--ink);overflow-wrap:anywhere}
html{background:var(--ground)}
header{font-weight:600;margin-bottom:2rem}
img{display:block;max-width:100%;max-height:64px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
p{margin:0 0 1rem;white-space:pre-line}
form{margin:1.5rem 0 0}
fieldset{border:1px solid var(--line);border-radius:8px;margin:0 0 1rem;padding:.5rem 1rem;min-width:0}
legend{font-weight:600;padding:0 .25rem}
label{display:grid;grid-template-columns:1.25rem minmax(0,1fr);gap:.75rem;padding:.625rem 0;cursor:pointer}
input[type=checkbox]{width:1.25rem;height:1.25rem;margin:.125rem 0 0;accent-color:var(--accent)}
small{display:block;font-size:.875rem}
button{font:inherit;font-weight:500;min-height:44px;padding:.5rem 1.25rem;border:1px solid var(--ink);border-radius:8px;background:transparent;color:inherit;cursor:pointer;max-width:100%}
button.main{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
button:focus-visible,input:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.notice{border:1px solid var(--line);border-inline-start:4px solid var(--accent);border-radius:8px;padding:1rem;margin:0 0 1.5rem}
.notice p:last-child{margin:0}
.notice form{margin:0}
.notice form p{margin:0 0 .5rem}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.875rem}
address{font-style:normal;white-space:pre-line}
`
}

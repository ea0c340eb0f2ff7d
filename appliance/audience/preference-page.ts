/**
 * Renders the preference page as HTML without scripts. Pure; the dashboard previews it, so it can't use Node APIs. All
 * names and custom texts are escaped.
 */
import {
  inkOn,
  nightColors,
  type PageColors,
  type PageLanguage,
  type UnsubscribePage,
} from '../mail/unsubscribe-page.ts'
import { type PageWords, WORDS } from './page-words.ts'

/** A topic on the page. */
export interface PageTopic {
  id: string
  name: string
  description: string | null
  subscribed: boolean
}

/** The result of the last action. left: unsubscribed from the topic of the link · out: from everything */
export type PageNotice = 'saved' | 'left' | 'out' | 'returned'

export interface PageView {
  team: string
  /** The masked address. */
  address: string
  language: PageLanguage
  page: UnsubscribePage
  unsubscribed: boolean
  /** The topic of the mail with the link; null: none. */
  topic: PageTopic | null
  topics: PageTopic[]
  notice: PageNotice | null
  /** The topics before the last action; null: nothing to undo. */
  before: PageTopic[] | null
}

/** Values of the form field `do`. */
export const PAGE_ACTIONS = ['save', 'leave', 'stop', 'return'] as const
export type PageAction = (typeof PAGE_ACTIONS)[number]

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)

const button = (action: PageAction, words: string, look = ''): string =>
  `<button name="do" value="${action}"${look && ` class="${look}"`}>${escape(words)}</button>`
const form = (content: string): string => `<form method="post">${content}</form>`
const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${name}" value="${value}">`

/** The page, and its style, which the Content-Security-Policy must allow. */
export interface RenderedPage {
  style: string
  html: string
}

export function renderPreferencePage(view: PageView): RenderedPage {
  const words = WORDS[view.language]
  const body = view.unsubscribed ? outOfAll(view, words) : choices(view, words)
  return wrap(view, headingOf(view, words), body)
}

/** Renders the page for invalid links. It names no team. */
export function renderNotFound(page: UnsubscribePage, language: PageLanguage): RenderedPage {
  const { notFoundTitle, notFoundText } = WORDS[language]
  return wrap({ page, language, team: '' }, notFoundTitle, `<p>${escape(notFoundText)}</p>`)
}

function headingOf({ unsubscribed, topic, page, language }: PageView, words: PageWords): string {
  if (unsubscribed) return words.outTitle
  return page.words[language]?.title ?? (topic?.subscribed ? words.topicTitle(topic.name) : words.title)
}

function outOfAll({ team, address }: PageView, words: PageWords): string {
  return `<p role="status">${escape(words.outText(team, address))}</p>
${form(`<p>${escape(words.mistake)}</p>${button('return', words.takeBack, 'main')}`)}`
}

function choices(view: PageView, words: PageWords): string {
  const { team, address, topic, topics, page, language } = view
  const own = page.words[language]?.text
  const leave = topic?.subscribed ? form(button('leave', words.leaveTopic(topic.name), 'main')) : ''
  const list = topics.length === 0 ? '' : form(topicList(topics, words))
  const stop = `<p>${escape(words.stopHint(team))}</p>${button('stop', words.stop)}`
  return [
    noticeOf(view, words),
    `<p>${escape(own ?? words.text(team, address))}</p>`,
    own === null || own === undefined ? '' : `<p>${escape(address)}</p>`,
    leave,
    list,
    form(stop),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function topicList(topics: PageTopic[], words: PageWords): string {
  const rows = topics.map(({ id, name, description, subscribed }) => {
    const hint = description === null ? '' : `<small>${escape(description)}</small>`
    const box = `<input type="checkbox" name="topic" value="${id}"${subscribed ? ' checked' : ''}>`
    return `${hidden('shown', id)}<label>${box}<span>${escape(name)}${hint}</span></label>`
  })
  return `<fieldset><legend>${escape(words.topics)}</legend>${rows.join('')}</fieldset>${button('save', words.save)}`
}

/** Renders the result of the last action, with its undo button. */
function noticeOf({ notice, topic, before }: PageView, words: PageWords): string {
  if (notice === null) return ''
  const said =
    notice === 'left' ? words.leftTopic(topic?.name ?? '') : words[notice === 'saved' ? 'saved' : 'returned']
  const fields = (before ?? []).map(
    ({ id, subscribed }) => hidden('shown', id) + (subscribed ? hidden('topic', id) : ''),
  )
  const back =
    before && form(`<p>${escape(words.mistake)}</p>${fields.join('')}${button('save', words.takeBack)}`)
  return `<div class="notice"><p role="status">${escape(said)}</p>${back ?? ''}</div>`
}

interface Frame {
  page: UnsubscribePage
  language: PageLanguage
  team: string
}

function wrap({ page, language, team }: Frame, heading: string, body: string): RenderedPage {
  const style = styleOf(page)
  const name = escape(team)
  const logo = page.logo === null ? name : `<img src="${escape(page.logo)}" alt="${name}">`
  const postal = page.postalAddress === null ? '' : `<address>${escape(page.postalAddress)}</address>`
  const html = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${escape(heading)}${name && ` · ${name}`}</title>
<style>${style}</style>
</head>
<body>
${name && `<header>${logo}</header>`}
<main>
<h1>${escape(heading)}</h1>
${body}
</main>
${postal && `<footer>${postal}</footer>`}
</body>
</html>
`
  return { style, html }
}

const variables = ({ background, text, accent }: PageColors): string =>
  `--ground:${background};--ink:${text};--accent:${accent};--on-accent:${inkOn(accent)}`

/** Border color with enough contrast against the background. */
const LINE = `color-mix(in srgb, var(--ink) 55%, var(--ground))`

function styleOf({ background, text, accent }: UnsubscribePage): string {
  const day = { background, text, accent }
  return `
:root{color-scheme:light;${variables(day)};--line:${LINE};font:16px/1.5 system-ui,sans-serif}
@media (prefers-color-scheme:dark){:root{color-scheme:dark;${variables(nightColors(day))}}}
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

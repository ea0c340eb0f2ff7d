/**
 * Renders the preference page as HTML without scripts. Pure; the dashboard uses it for previews, so it can't use Node
 * APIs. All names and custom texts are escaped.
 */
import { escapeHtml, renderPageFrame, type RenderedPage } from '../mail/page-frame.ts'
import type { PageLanguage, UnsubscribePage } from '../mail/unsubscribe-page.ts'
import { type PageTexts, PAGE_TEXTS } from './page-texts.ts'

/** A topic on the page. */
export interface PageTopic {
  id: string
  name: string
  description: string | null
  subscribed: boolean
}

/** The result of the last action. left: unsubscribed from the topic of the link · out: unsubscribed from everything */
export type PageNotice = 'saved' | 'left' | 'out' | 'returned'

export interface PageView {
  team: string
  /** The masked address. */
  address: string
  language: PageLanguage
  page: UnsubscribePage
  unsubscribed: boolean
  /** The topic of the email that contained the link; null if there is none. */
  topic: PageTopic | null
  topics: PageTopic[]
  notice: PageNotice | null
  /** The topics before the last action; null if there is nothing to undo. */
  before: PageTopic[] | null
}

/** Values of the form field `do`. */
export const PAGE_ACTIONS = ['save', 'leave', 'stop', 'return'] as const
export type PageAction = (typeof PAGE_ACTIONS)[number]

const button = (action: PageAction, words: string, look = ''): string =>
  `<button name="do" value="${action}"${look && ` class="${look}"`}>${escapeHtml(words)}</button>`
const form = (content: string): string => `<form method="post">${content}</form>`
const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${name}" value="${value}">`

export function renderPreferencePage(view: PageView): RenderedPage {
  const words = PAGE_TEXTS[view.language]
  const body = view.unsubscribed ? outOfAll(view, words) : choices(view, words)
  return renderPageFrame(view, headingOf(view, words), body)
}

/** Renders the page for invalid links. It names no team. */
export function renderNotFoundPage(page: UnsubscribePage, language: PageLanguage): RenderedPage {
  const { notFoundTitle, notFoundText } = PAGE_TEXTS[language]
  return renderPageFrame({ page, language, team: '' }, notFoundTitle, `<p>${escapeHtml(notFoundText)}</p>`)
}

function headingOf({ unsubscribed, topic, page, language }: PageView, words: PageTexts): string {
  if (unsubscribed) return words.outTitle
  return page.words[language]?.title ?? (topic?.subscribed ? words.topicTitle(topic.name) : words.title)
}

function outOfAll({ team, address }: PageView, words: PageTexts): string {
  return `<p role="status">${escapeHtml(words.outText(team, address))}</p>
${form(`<p>${escapeHtml(words.mistake)}</p>${button('return', words.takeBack, 'main')}`)}`
}

function choices(view: PageView, words: PageTexts): string {
  const { team, address, topic, topics, page, language } = view
  const own = page.words[language]?.text
  const leave = topic?.subscribed ? form(button('leave', words.leaveTopic(topic.name), 'main')) : ''
  const list = topics.length === 0 ? '' : form(topicList(topics, words))
  const stop = `<p>${escapeHtml(words.stopHint(team))}</p>${button('stop', words.stop)}`
  return [
    noticeOf(view, words),
    `<p>${escapeHtml(own ?? words.text(team, address))}</p>`,
    own === null || own === undefined ? '' : `<p>${escapeHtml(address)}</p>`,
    leave,
    list,
    form(stop),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function topicList(topics: PageTopic[], words: PageTexts): string {
  const rows = topics.map(({ id, name, description, subscribed }) => {
    const hint = description === null ? '' : `<small>${escapeHtml(description)}</small>`
    const box = `<input type="checkbox" name="topic" value="${id}"${subscribed ? ' checked' : ''}>`
    return `${hidden('shown', id)}<label>${box}<span>${escapeHtml(name)}${hint}</span></label>`
  })
  return `<fieldset><legend>${escapeHtml(words.topics)}</legend>${rows.join('')}</fieldset>${button('save', words.save)}`
}

/** Renders the result of the last action, with its undo button. */
function noticeOf({ notice, topic, before }: PageView, words: PageTexts): string {
  if (notice === null) return ''
  const said =
    notice === 'left' ? words.leftTopic(topic?.name ?? '') : words[notice === 'saved' ? 'saved' : 'returned']
  const fields = (before ?? []).map(
    ({ id, subscribed }) => hidden('shown', id) + (subscribed ? hidden('topic', id) : ''),
  )
  const back =
    before && form(`<p>${escapeHtml(words.mistake)}</p>${fields.join('')}${button('save', words.takeBack)}`)
  return `<div class="notice"><p role="status">${escapeHtml(said)}</p>${back ?? ''}</div>`
}

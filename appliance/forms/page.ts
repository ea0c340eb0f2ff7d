/**
 * Renders the pages of a sign-up form as HTML without scripts. Pure; the dashboard uses it for previews, so it can't
 * use Node APIs. All text from teams and visitors is escaped.
 */
import { type FormField, type FormSettings, getInputName } from '../mail/form.ts'
import { escapeHtml, renderPageFrame, type RenderedPage } from '../mail/page-frame.ts'
import type { PageLanguage, UnsubscribePage } from '../mail/unsubscribe-page.ts'
import { getFieldLabel, SIGN_UP_TEXTS } from './texts.ts'

/** The team and the design of a form's pages. */
export interface FormPageView {
  team: string
  page: UnsubscribePage
  language: PageLanguage
  form: Pick<FormSettings, 'words'>
}

/** The page with the inputs. */
export interface InputsView extends FormPageView {
  fields: readonly FormField[]
  /** Names of the inputs for numbers. */
  numbers: readonly string[]
  /** Values that the visitor typed before, by name of the input. */
  values: Record<string, string>
  /** Reason why the sign-up wasn't accepted; null if there is none. */
  problem: string | null
  /** Token that proves when the page was shown. */
  shown: string
}

/** Pages with only a message. */
export type FormMessage = 'sent' | 'closed' | 'busy' | 'used'

/** Name of the hidden input that only bots fill in. */
export const HONEYPOT_INPUT = 'website'

const STYLE = `
.trap{position:absolute;left:-10000px}
label.field{display:block;padding:0;margin:0 0 1rem;cursor:default}
label.field span{display:block;font-weight:500;margin:0 0 .25rem}
label.field small{display:inline;font-weight:400}
label.field input{font:inherit;width:100%;min-height:44px;padding:.5rem .75rem;border:1px solid var(--line);border-radius:8px;background:transparent;color:inherit}
form.sign-up{margin:1rem 0}
.problem{border:1px solid var(--line);border-inline-start:4px solid var(--accent);border-radius:8px;padding:1rem}
a{color:inherit}
`

/** Values of `autocomplete`, which tell browsers how to fill in an input (WCAG 2.2, 1.3.5). */
const AUTOCOMPLETE: Record<string, string> = { first_name: 'given-name', last_name: 'family-name' }

interface Input {
  name: string
  label: string
  attributes: string
  value?: string
}

const input = ({ name, label, attributes, value = '' }: Input, hint = ''): string => {
  const filled = value === '' ? '' : ` value="${escapeHtml(value)}"`
  return `<label class="field"><span>${escapeHtml(label)}${hint}</span><input name="${escapeHtml(name)}" ${attributes}${filled}></label>`
}

const EMAIL = 'type="email" required maxlength="254" autocomplete="email"'

/** Returns the inputs of a form, also for the code to embed. */
function inputsOf(
  { fields, form, language, numbers }: Pick<InputsView, 'fields' | 'form' | 'language' | 'numbers'>,
  values: Record<string, string>,
): string {
  const words = SIGN_UP_TEXTS[language]
  const rows = fields.map(({ name, required }) => {
    const own = getInputName(name)
    const kind = numbers.includes(own) ? 'inputmode="decimal"' : 'type="text"'
    const fill = `autocomplete="${AUTOCOMPLETE[name] ?? 'off'}"`
    const most = own === name ? 250 : 2000
    const attributes = `${kind} maxlength="${most}" ${fill}${required ? ' required' : ''}`
    const hint = required ? '' : ` <small>(${escapeHtml(words.optional)})</small>`
    const label = getFieldLabel(name, form.words[language], words)
    return input({ name: own, label, attributes, value: values[own] ?? '' }, hint)
  })
  const email = input({ name: 'email', label: words.email, attributes: EMAIL, value: values.email ?? '' })
  return [email, ...rows].join('\n')
}

const trap = (language: PageLanguage, hide: string): string =>
  `<p ${hide} aria-hidden="true"><label>${escapeHtml(SIGN_UP_TEXTS[language].leaveEmpty)} <input name="${HONEYPOT_INPUT}" tabindex="-1" autocomplete="off"></label></p>`

/** Renders the page with the form. */
export function renderForm(view: InputsView): RenderedPage {
  const { team, form, language, problem, shown } = view
  const words = SIGN_UP_TEXTS[language]
  const own = form.words[language]
  const body = [
    `<p>${escapeHtml(own?.text ?? words.text(team))}</p>`,
    problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`,
    '<form method="post" class="sign-up" accept-charset="utf-8">',
    `<input type="hidden" name="language" value="${language}"><input type="hidden" name="shown" value="${escapeHtml(shown)}">`,
    inputsOf(view, view.values),
    trap(language, 'class="trap"'),
    own?.consent ? `<p>${escapeHtml(own.consent)}</p>` : '',
    `<button class="main">${escapeHtml(own?.button ?? words.button)}</button>`,
    '</form>',
    `<p><small>${escapeHtml(words.hint)}</small></p>`,
  ]
  return renderPageFrame(
    view,
    own?.title ?? words.title,
    body.filter((part) => part !== '').join('\n'),
    STYLE,
  )
}

/** Renders a page with only a message. */
export function renderMessage(view: FormPageView, message: FormMessage): RenderedPage {
  const words = SIGN_UP_TEXTS[view.language]
  const texts: Record<FormMessage, [title: string, ...paragraphs: string[]]> = {
    sent: [words.sentTitle, words.sentText, words.noMail],
    closed: [words.closedTitle, words.closedText],
    busy: [words.busyTitle, words.busyText],
    used: [words.usedTitle, words.usedText],
  }
  const [title, ...paragraphs] = texts[message]
  const [first, ...rest] = paragraphs.map(escapeHtml)
  const body = [`<p role="status">${first}</p>`, ...rest.map((text) => `<p>${text}</p>`)]
  return renderPageFrame(view, title, body.join('\n'), STYLE)
}

/**
 * Renders the page for a form on a site that isn't allowed to embed it.
 * @param url URL of the form's own page
 */
export function renderForeignSitePage(view: FormPageView, url: string): RenderedPage {
  const words = SIGN_UP_TEXTS[view.language]
  const link = `<p><a href="${escapeHtml(url)}">${escapeHtml(view.form.words[view.language]?.title ?? words.title)}</a></p>`
  return renderPageFrame(
    view,
    words.foreignTitle,
    `<p role="alert">${escapeHtml(words.foreignText)}</p>\n${link}`,
    STYLE,
  )
}

/**
 * Renders the page that a confirmation link opens.
 * @param address masked
 */
export function renderConfirmPage(view: FormPageView, address: string): RenderedPage {
  const { team, language } = view
  const words = SIGN_UP_TEXTS[language]
  const body = `<p>${escapeHtml(words.confirmText(team, address))}</p>
<p>${escapeHtml(words.lifts)}</p>
<form method="post"><button class="main">${escapeHtml(words.confirm)}</button></form>`
  return renderPageFrame(view, words.confirmTitle, body, STYLE)
}

/**
 * Renders the page after the confirmation.
 * @param address masked
 */
export function renderConfirmedPage(view: FormPageView, address: string): RenderedPage {
  const { team, language } = view
  const words = SIGN_UP_TEXTS[language]
  const body = `<p role="status">${escapeHtml(words.doneText(team, address))}</p>`
  return renderPageFrame(view, words.doneTitle, body, STYLE)
}

/** Converts an input of this server's page for pages with another style. */
const paragraph = (row: string): string =>
  `<p>${row.replace('<label class="field">', '<label>').replace('</span>', '</span> ')}</p>`

/**
 * Renders a form as plain HTML for another site.
 * @param url of the form's own page
 */
export function renderEmbedCode(
  view: Pick<InputsView, 'form' | 'fields' | 'language' | 'numbers'>,
  url: string,
): string {
  const { form, language } = view
  const own = form.words[language]
  const lines = [
    `<form action="${escapeHtml(url)}" method="post" accept-charset="utf-8">`,
    `<input type="hidden" name="language" value="${language}">`,
    ...inputsOf(view, {}).split('\n').map(paragraph),
    trap(language, 'style="position:absolute;left:-10000px"'),
    own?.consent ? `<p>${escapeHtml(own.consent)}</p>` : '',
    `<p><button>${escapeHtml(own?.button ?? SIGN_UP_TEXTS[language].button)}</button></p>`,
    '</form>',
  ]
  return `${lines.filter((line) => line !== '').join('\n')}\n`
}

/** Returns the texts that a person agrees to, for the consent log. */
export function getConsentWording({
  team,
  form,
  language,
}: Pick<FormPageView, 'team' | 'form' | 'language'>): string {
  const words = SIGN_UP_TEXTS[language]
  const own = form.words[language]
  const shown = [
    own?.title ?? words.title,
    own?.text ?? words.text(team),
    own?.consent ?? '',
    own?.button ?? words.button,
  ]
  return shown.filter((text) => text !== '').join('\n')
}

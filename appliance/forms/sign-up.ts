/**
 * Handles submissions by visitors of a form, and their confirmations. Responses never reveal whether an address is
 * known, is suppressed, or was just sent an email.
 */
import { createThrottle } from '../clock/throttle.ts'
import { parseMailbox } from '../mail/address.ts'
import { type Form, FORM_LIMITS, type FormField, getInputName } from '../mail/form.ts'
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import { maskAddress, type PageLanguage, type UnsubscribePage } from '../mail/unsubscribe-page.ts'
import type { ContactProperty, SignupValues, StorageSubset } from '../storage/storage.ts'
import { getSourceNetwork } from '../wire/networks.ts'
import { type FormOperationDeps, selectInputs, resolveFormUrl } from './operations.ts'
import { HONEYPOT_INPUT, getConsentWording } from './page.ts'
import type { FormTokens } from './tokens.ts'
import { getFieldLabel, SIGN_UP_TEXTS } from './texts.ts'

/** Data about a form that its public page needs. */
export interface PublicFormData {
  form: Form
  team: string
  page: UnsubscribePage
  fields: FormField[]
  /** Names of the inputs for numbers. */
  numbers: string[]
  /** URL of the form's page. */
  url: string | null
}

/** A form as submitted by a visitor. */
export interface FormSubmission {
  values: URLSearchParams
  language: PageLanguage
  /** Origin of the site with the form, as reported by the browser; null if there is none. */
  origin: string | null
  ip: string
}

/**
 * sent: the visitor is asked to check their mailbox, whatever happened · problem: shown with the form again; `shown` is
 * the proof for it · foreign: from a site that isn't allowed to embed the form
 */
export type SubmitResult =
  { kind: 'sent' | 'closed' | 'busy' | 'foreign' } | { kind: 'problem'; problem: string; shown: string }

/** Data about a sign-up that its confirmation page needs. */
export interface SignUpConfirmationData extends Omit<PublicFormData, 'fields' | 'numbers' | 'url'> {
  id: string
  /** Address of the visitor, masked because mail gets forwarded. */
  address: string
  language: PageLanguage
}

export interface SignUps {
  /** Returns a form; undefined if it doesn't exist. */
  openForm(args: { id: string }): Promise<PublicFormData | undefined>
  /** Creates the proof that is part of a form's page. */
  prove(formId: string): string
  submit(opened: PublicFormData, given: FormSubmission): Promise<SubmitResult>
  /**
   * Returns the sign-up that a confirmation link is for; `used` if the link can't confirm anything any more, undefined
   * if this server didn't create it.
   */
  openSignup(args: { token: string }): Promise<SignUpConfirmationData | 'used' | undefined>
  /** Confirms a sign-up. Returns false if it was confirmed before, or has expired. */
  confirm(args: { id: string; ip: string; userAgent: string | null }): Promise<boolean>
}

export interface SignUpDeps extends FormOperationDeps {
  storage: FormOperationDeps['storage'] & StorageSubset<'formSignups' | 'teams' | 'unsubscribePages'>
  tokens: FormTokens
  /** Returns this node's share of a limit that each node counts separately. */
  shareOf: (limit: number) => number
}

/** Minimum and maximum time between showing a page and submitting it, in milliseconds. */
const SOONEST = 2000
const LATEST = 24 * 3_600_000
const HOUR = 3_600_000
const USER_AGENT = 500
const MAX = { name: 250, value: 2000, address: 254 }

/** Control characters, line separators and lone surrogates. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/**
 * Creates the methods for sign-ups.
 * @param wake called when a confirmation email is to be sent
 */
export function createSignUps(deps: SignUpDeps, wake: () => void): SignUps {
  const { storage, clock, tokens, shareOf } = deps
  const networks = createThrottle(clock, () => shareOf(FORM_LIMITS.networkPerHour), HOUR)
  const around = async (form: Form) => {
    const team = await storage.getTeam({ id: form.teamId }, clock.now())
    const page = await storage.getUnsubscribePage({ teamId: form.teamId }, clock.now())
    return { form, team: team?.name ?? '', page }
  }
  return {
    async openForm({ id }) {
      const form = await storage.findForm({ id }, clock.now())
      if (!form) return undefined
      const properties = await storage.listContactProperties({ teamId: form.teamId }, clock.now())
      return {
        ...(await around(form)),
        ...selectInputs(form, properties),
        url: await resolveFormUrl(deps, form),
      }
    },
    prove: (formId) => tokens.shownAt(formId, clock.now()),
    async submit(opened, given) {
      const { form } = opened
      if (form.status !== 'enabled') return { kind: 'closed' }
      if ((given.values.get(HONEYPOT_INPUT) ?? '') !== '') return { kind: 'sent' }
      const late = checkProof(deps, form, given)
      if (late) return late
      const properties = await storage.listContactProperties({ teamId: form.teamId }, clock.now())
      const read = readSignup(opened, given, properties)
      if ('problem' in read)
        return {
          kind: 'problem',
          ...read,
          shown: given.values.get('shown') ?? tokens.shownAt(form.id, clock.now()),
        }
      if (networks.attempt([getSourceNetwork(given.ip, 48)]) > 0) return { kind: 'busy' }
      if (!(await mayAsk(deps, form))) return { kind: 'closed' }
      const { language } = given
      const now = clock.now()
      const wording = getConsentWording({ ...opened, language })
      const signup = { ...read, id: newId(now), formId: form.id, language, wording }
      const result = await storage.submitSignup({ signup }, now)
      wake()
      if (result === 'full') return { kind: 'busy' }
      return { kind: result === 'closed' ? 'closed' : 'sent' }
    },
    async openSignup({ token }) {
      const id = tokens.signupOf(token)
      if (id === undefined) return undefined
      const signup = await storage.getSignup({ id }, clock.now())
      const form = signup && (await storage.findForm({ id: signup.formId }, clock.now()))
      if (!form || !signup.open) return 'used'
      const { language, email } = signup
      return { ...(await around(form)), id, language, address: maskAddress(email) }
    },
    async confirm({ id, ip, userAgent }) {
      const visitor = { ip, userAgent: userAgent?.slice(0, USER_AGENT) ?? null }
      return (await storage.confirmSignup({ id, ...visitor }, clock.now())) !== undefined
    },
  }
}

/** Whether the team may still send as the form's sender. */
async function mayAsk({ senders }: SignUpDeps, { teamId, from }: Form): Promise<boolean> {
  try {
    await senders.authorize({ teamId, apiKey: null }, { domain: parseMailbox(from)?.domain ?? '' })
    return true
  } catch (error) {
    // The visitor doesn't need to know the reason.
    if (error instanceof Refusal) return false
    throw error
  }
}

/**
 * Checks when the form's own page was shown, or which other site contained the form. Undefined if there is no problem.
 * Bots submit a page immediately, or much later.
 */
function checkProof(
  { tokens, clock }: SignUpDeps,
  form: Form,
  { values, origin, language }: FormSubmission,
): SubmitResult | undefined {
  const proof = values.get('shown') ?? ''
  const now = clock.now()
  const at = tokens.timeOf(form.id, proof)
  if (at === undefined)
    return origin !== null && form.origins.includes(origin) ? undefined : { kind: 'foreign' }
  if (now - at >= SOONEST && now - at <= LATEST) return undefined
  const shown = now - at < SOONEST ? proof : tokens.shownAt(form.id, now)
  return { kind: 'problem', problem: SIGN_UP_TEXTS[language].once, shown }
}

interface ReadSignup {
  email: string
  given: SignupValues
}

/** Reads the visitor's input, or returns what is wrong with it. */
function readSignup(
  { form, fields, numbers }: PublicFormData,
  { values, language }: FormSubmission,
  properties: readonly ContactProperty[],
): ReadSignup | { problem: string } {
  const words = SIGN_UP_TEXTS[language]
  const typed = values.get('email')?.trim() ?? ''
  const mailbox = typed.length <= MAX.address ? parseMailbox(typed) : undefined
  if (mailbox?.name !== '') return { problem: words.badEmail }
  const given: SignupValues = {}
  const labels = new Map(properties.map(({ key, label }) => [key, label]))
  for (const { name, required } of fields) {
    const shown = getFieldLabel(name, form.words[language], words)
    const input = getInputName(name)
    const text = values.get(input)?.trim() ?? ''
    if (text === '' && required) return { problem: words.missing(shown) }
    if (text === '') continue
    if (text.length > (input === name ? MAX.name : MAX.value) || unprintable.test(text))
      return { problem: words.tooLong(shown) }
    if (name === 'first_name') given.firstName = text
    else if (name === 'last_name') given.lastName = text
    else {
      const value = numbers.includes(input) ? Number(text.replace(',', '.')) : text
      if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER))
        return { problem: words.noNumber(shown) }
      given.properties = { ...given.properties, [labels.get(name)!]: value }
    }
  }
  return { email: mailbox.address, given }
}

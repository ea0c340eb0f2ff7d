/**
 * The public module of sign-up forms with double opt-in. A sign-up is stored first, and a worker then sends its
 * confirmation email, so that the response takes the same time for every address, and a crash loses no sign-up.
 */
import type { Clock } from '../clock/clock.ts'
import type { Intake } from '../intake/intake.ts'
import { parseMailbox } from '../mail/address.ts'
import type { Form } from '../mail/form.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Signup } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker } from '../watch/worker.ts'
import { createFormOperations, FORM_PATH, type FormOperations, resolveFormUrl } from './operations.ts'
import { createConfirmationMail } from './mail.ts'
import { createSignUps, type SignUpDeps, type SignUps } from './sign-up.ts'

export { FORM_PATH, type FormInput } from './operations.ts'
export {
  renderConfirmPage,
  renderConfirmedPage,
  renderForeignSitePage,
  renderForm,
  renderMessage,
  type FormMessage,
  type FormPageView,
} from './page.ts'
export type { PublicFormData, SignUpConfirmationData } from './sign-up.ts'
export { createFormTokens, type FormTokens } from './tokens.ts'

/** Path of confirmation links, after `FORM_PATH`. */
export const CONFIRM_PATH = 'confirm/'

export interface Forms extends FormOperations, SignUps {
  /** Starts to send confirmation emails. Only for the daemon. */
  start(): void
  /** Stops after the current step. */
  close(): Promise<void>
}

export interface FormsDeps extends SignUpDeps {
  intake: Pick<Intake, 'accept'>
  clock: Clock
  log: Logger
  /** Decides which process does the work. Default: this is the only process. */
  duties?: Duties | undefined
  pollMs: number
}

/** Number of sign-ups read at a time, and removed at a time. */
const BATCH = 50
const PURGED = 500
/** How often old sign-ups are removed, in milliseconds. */
const PURGE_EVERY = 60 * 60_000
/** How long sending a confirmation email is retried, in milliseconds. */
const ATTEMPTED = 24 * 60 * 60_000

export function createForms(deps: FormsDeps): Forms {
  const { clock, log, pollMs } = deps
  const onDuty = createDutyCheck(deps.duties, 'forms')
  let purgeAt = 0
  const step = async (going: () => boolean): Promise<boolean> => {
    await sendDue(deps, going, onDuty)
    if (clock.now() < purgeAt || !(await onDuty())) return false
    purgeAt = clock.now() + PURGE_EVERY
    while (going() && (await deps.storage.purgeSignups({ most: PURGED }, clock.now())) >= PURGED);
    return false
  }
  const trouble = 'could not send confirmation emails of sign-up forms; will retry'
  const worker = createWorker({ step, clock, log, pollMs, trouble })
  return {
    ...createFormOperations(deps),
    ...createSignUps(deps, () => worker.wake()),
    start: () => worker.start(),
    close: () => worker.stop(),
  }
}

async function sendDue(deps: FormsDeps, going: () => boolean, onDuty: () => Promise<boolean>): Promise<void> {
  const { storage, clock } = deps
  for (let after = ''; going();) {
    const due = await storage.dueSignups({ after, most: BATCH }, clock.now())
    if (due.length === 0 || !(await onDuty())) return
    for (const { signup, form } of due) {
      if (!going()) return
      const sent = await send(deps, signup, form)
      if (sent !== 'later') await storage.settleSignup({ id: signup.id, sent }, clock.now())
    }
    after = due.at(-1)!.signup.id
  }
}

/** Sends a confirmation email. Repeated calls send it only once. Returns false if it can't be sent. */
async function send(deps: FormsDeps, signup: Signup, form: Form): Promise<boolean | 'later'> {
  const { intake, clock, log } = deps
  const about = { form_id: form.id, signup_id: signup.id }
  try {
    const submission = await mailFor(deps, signup, form)
    if (!submission) {
      log.warn(about, 'a confirmation email could not be sent: this server has no public address')
      return false
    }
    const request = { submissions: [submission], idempotencyKey: signup.id, scope: 'form', fingerprint: '' }
    const { ids } = await intake.accept(request, { teamId: form.teamId, apiKey: null })
    log.info({ ...about, email_id: ids[0] }, 'sending a confirmation email')
    return true
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const isTemporary = error.status >= 500 || error.status === 429
    if (isTemporary && clock.now() - signup.createdAt < ATTEMPTED) return 'later'
    log.warn(about, `a confirmation email could not be sent: ${error.message}`)
    return false
  }
}

async function mailFor(deps: FormsDeps, { id, email, language, teamId }: Signup, form: Form) {
  const { storage, clock, tokens } = deps
  const url = await resolveFormUrl(deps, form)
  const [from, to] = [parseMailbox(form.from), parseMailbox(email)]
  const team = await storage.getTeam({ id: teamId }, clock.now())
  if (url === null || !from || !to || !team) return undefined
  const page = await storage.getUnsubscribePage({ teamId }, clock.now())
  const link = `${new URL(url).origin}${FORM_PATH}${CONFIRM_PATH}${tokens.confirming(id)}`
  return createConfirmationMail({ form, team: team.name, page, language, from, to, url: link })
}

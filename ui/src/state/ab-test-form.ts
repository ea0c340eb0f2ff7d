/** The A/B test of a broadcast draft as a form. Pure. */
import type { Broadcast, UpdateBroadcast } from '../../../appliance/api/broadcasts.ts'
import { SHARE, WAIT_HOURS, WHOLE } from '../../../appliance/mail/ab-test.ts'

export interface AbTestForm {
  /** Percent of the recipients. */
  share: number
  waitHours: number
  /** B and those after it. */
  variants: VariantValues[]
}

/** What differs from variant A. Null or empty: the same. */
interface VariantValues {
  fromName: string
  subject: string | null
  preview: string | null
  body: { html: string; text: string | null; document: Record<string, unknown> | null } | null
}

/** A test with one variant that doesn't differ yet. */
export const newAbTest = (): AbTestForm => ({
  share: SHARE.usual,
  waitHours: WAIT_HOURS.usual,
  variants: [newVariant()],
})

export const newVariant = (): VariantValues => ({ fromName: '', subject: null, preview: null, body: null })

/** Returns the form of a saved test. */
export const abTestFormOf = (test: Broadcast['ab_test']): AbTestForm | null =>
  test && {
    share: test.share,
    waitHours: test.wait_hours ?? WAIT_HOURS.usual,
    variants: test.variants.map((one) => ({
      fromName: one.from_name ?? '',
      subject: one.subject,
      preview: one.preview_text,
      body: one.html === null ? null : { html: one.html, text: one.text, document: one.document },
    })),
  }

/** Returns the test for a request. */
export const givenAbTest = (form: AbTestForm | null): NonNullable<UpdateBroadcast['ab_test']> | null =>
  form && {
    share: form.share,
    wait_hours: form.share === WHOLE ? null : form.waitHours,
    variants: form.variants.map(({ fromName, subject, preview, body }) => ({
      from_name: fromName.trim() || null,
      subject,
      preview_text: preview,
      ...(body &&
        (body.document === null ? { html: body.html, text: body.text } : { document: body.document })),
    })),
  }

/** Says how a test goes: whom it goes to, and what follows. @param eligible contacts that get the broadcast */
export function planWords({ share, waitHours, variants }: AbTestForm, eligible: number): string {
  const count = variants.length + 1
  const tested = Math.floor((eligible * share) / 100 / count)
  const each = `about ${tested.toLocaleString('en')} ${tested === 1 ? 'contact' : 'contacts'} each`
  if (share === WHOLE) return `Everybody gets one of ${count} variants, ${each}. No winner is sent.`
  return `${share}% get one of ${count} variants, ${each}. ${waitHours} h after the last test email, the variant whose links most people click goes to the rest.`
}

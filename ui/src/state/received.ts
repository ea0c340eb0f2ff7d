/** Texts about received email. Pure. */
import type { ReceivedEmailSummary } from '../../../appliance/api/receiving.ts'

/** Values and labels of the DMARC filter. */
export const DMARC_CHOICES = [
  ['pass', 'DMARC pass'],
  ['fail', 'DMARC fail'],
  ['none', 'DMARC none'],
  ['temperror', 'DMARC temporary error'],
  ['permerror', 'DMARC invalid record'],
] as const
export const SPAM_CHOICES = [
  ['true', 'Marked as spam'],
  ['false', 'Not marked as spam'],
] as const
export const ATTACHMENT_CHOICES = [
  ['true', 'With attachments'],
  ['false', 'Without attachments'],
] as const

/** Returns only the authentication results of a received email. */
export function getCheckResults({
  authentication_results: { spf, dkim, dmarc, arc },
}: Pick<ReceivedEmailSummary, 'authentication_results'>) {
  return { spf: spf.result, dkim: dkim.result, dmarc: dmarc.result, arc: arc.result }
}

/** Returns the address in a header field: `a@b.example` of `Ada <a@b.example>`. */
const addressIn = (field: string) => (/<([^<>]*)>\s*$/.exec(field)?.[1] ?? field).trim().toLowerCase()

/** Explains an envelope sender that differs from the From address; null if they are the same. */
export function explainEnvelopeSender({ from, envelope }: Pick<ReceivedEmailSummary, 'from' | 'envelope'>) {
  if (envelope.mail_from === '') return 'empty, as in automatic messages'
  return envelope.mail_from.toLowerCase() === addressIn(from) ? null : 'differs from the From address'
}

/** Received email in words. Pure. */
import type { ReceivedEmailSummary } from '../../../appliance/api/receiving.ts'

/** By what a list is narrowed: the value in the address, and its label. */
export const DMARC_RESULTS = [
  ['pass', 'DMARC pass'],
  ['fail', 'DMARC fail'],
  ['none', 'DMARC none'],
  ['temperror', 'DMARC temporary error'],
  ['permerror', 'DMARC invalid record'],
] as const
export const WITH_FILES = [
  ['true', 'With attachments'],
  ['false', 'Without attachments'],
] as const

/** The results alone. */
export function checksOf({
  authentication_results: { spf, dkim, dmarc, arc },
}: Pick<ReceivedEmailSummary, 'authentication_results'>) {
  return { spf: spf.result, dkim: dkim.result, dmarc: dmarc.result, arc: arc.result }
}

/** The address in a field: `a@b.example` of `Ada <a@b.example>`. */
const addressIn = (field: string) => (/<([^<>]*)>\s*$/.exec(field)?.[1] ?? field).trim().toLowerCase()

/** Why the envelope sender matters; null where it is the From address. */
export function senderNote({ from, envelope }: Pick<ReceivedEmailSummary, 'from' | 'envelope'>) {
  if (envelope.mail_from === '') return 'empty, as in automatic messages'
  return envelope.mail_from.toLowerCase() === addressIn(from) ? null : 'differs from the From address'
}

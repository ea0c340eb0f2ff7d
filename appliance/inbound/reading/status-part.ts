/**
 * Parses the machine-readable part of a delivery report: groups of fields (RFC 3464 §2.1), including common deviations.
 * Pure.
 */

/** Fields by lower-case name; for repeated fields, the first. */
export type StatusFields = ReadonlyMap<string, string>

export interface StatusPart {
  /** Fields about the message (RFC 3464 §2.2). */
  message: StatusFields
  /** Fields about each recipient (RFC 3464 §2.3). */
  recipients: readonly StatusFields[]
}

/**
 * Maximum number of recipients that are read. An email has at most 100 per attempt; classifying one takes some 40 µs.
 */
export const MAX_RECIPIENTS = 500
const MAX_FIELDS = 200
const MAX_VALUE = 8 * 1024

const FIELD = /^([!-9;-~]{1,76})[ \t]*:[ \t]?(.*)$/
const OF_RECIPIENT = [
  'original-recipient',
  'final-recipient',
  'action',
  'status',
  'diagnostic-code',
  'remote-mta',
]
/** When one of these repeats within a group, the next recipient begins: some servers omit the blank line. */
const STARTS = ['original-recipient', 'final-recipient']

/** Reads the fields of a status part. */
export function parseStatusPart(text: string): StatusPart {
  const groups = readGroups(text)
  const message = new Map<string, string>()
  const recipients: StatusFields[] = []
  for (const group of groups) {
    // RFC 3464 puts the message's fields into their own group. If they share one with a recipient, both get all of it.
    for (const [name, value] of group)
      if (!OF_RECIPIENT.includes(name) && !message.has(name)) message.set(name, value)
    const isRecipient = group.has('final-recipient') || group.has('original-recipient') || group.has('action')
    if (isRecipient && recipients.length < MAX_RECIPIENTS) recipients.push(group)
  }
  return { message, recipients }
}

function readGroups(text: string): Map<string, string>[] {
  const groups = [new Map<string, string>()]
  let last = ''
  const begin = (): void => void groups.push(new Map())
  for (const line of text.split('\n')) {
    const group = groups.at(-1)!
    if (line.trim() === '') {
      if (group.size > 0) begin()
      last = ''
    } else if (/^[ \t]/.test(line)) {
      const before = group.get(last)
      if (before !== undefined && before.length < MAX_VALUE) group.set(last, `${before}\n${line.trim()}`)
    } else last = addField(groups, line) ?? last
    if (groups.length > MAX_RECIPIENTS + 1) break
  }
  return groups.filter(({ size }) => size > 0)
}

/**
 * Adds a field to the last group, or begins a new one. Returns the field's name, or undefined if the line is not a
 * field.
 */
function addField(groups: Map<string, string>[], line: string): string | undefined {
  const [, written, value] = FIELD.exec(line.slice(0, MAX_VALUE)) ?? []
  if (written === undefined) return undefined
  const name = written.toLowerCase()
  if (STARTS.includes(name) && endsGroup(groups.at(-1)!, name)) groups.push(new Map())
  const group = groups.at(-1)!
  if (!group.has(name) && group.size < MAX_FIELDS) group.set(name, value!.trim())
  return name
}

/**
 * Reports whether a field begins the next group. Original-Recipient may come before or after Final-Recipient, so only a
 * repeated field, or one after the end of a group, does.
 */
const endsGroup = (group: Map<string, string>, name: string): boolean => group.has(name)

/** Reports whether an undeclared text begins with the fields of a status part. */
export function looksLikeStatus(text: string): boolean {
  const start = text.slice(0, 4000)
  return (
    /^\s{0,20}(?:Reporting-MTA|Original-Envelope-Id|Arrival-Date|X-Postfix-\S{1,40}|Final-Recipient|Original-Recipient):/i.test(
      start,
    ) &&
    /^Final-Recipient:/im.test(start) &&
    /^(?:Action|Status):/im.test(start)
  )
}

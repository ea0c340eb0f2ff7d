import { trimNonLetters, type BreachedPasswordCheck } from './breached.ts'
import { MAX_PASSWORD_LENGTH } from './hasher.ts'

/** Minimum password length, in characters. The dashboard can send mail as every domain of the team. */
const SHORTEST_PASSWORD = 10

/**
 * Common passwords of at least ten characters that no breach list contains; compared without surrounding digits and
 * symbols.
 */
const common = new Set(
  `passwort passwordpassword administrador willkommen letmeinnow qwertzuiop azertyuiop yxcvbnm changemenow topsecret
  posthaste correcthorsebatterystaple`.split(/\s+/),
)
const sequences = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm']

/** Maximum number of digits and symbols around a well-known word for which the password still counts as known. */
const MOST_AROUND = 8
/** Minimum number of letters and digits that must remain after removing names related to the person. */
const LEAST_OWN = 6
/** Minimum length of a part of a name. Shorter parts occur in many words by chance. */
const SHORTEST_NAME = 4

/** Whether the text is a run of an alphabet or of a keyboard row, forwards or backwards. */
function isSequence(text: string): boolean {
  const backwards = [...text].reverse().join('')
  return sequences.some((all) => all.includes(text) || all.includes(backwards))
}

/** Returns the shortest text that gives this one when repeated: `ab` for `abab`. */
function period(text: string): string {
  for (let size = 1; size <= text.length / 2; size++)
    if (
      text
        .slice(0, size)
        .repeat(Math.ceil(text.length / size))
        .startsWith(text)
    )
      return text.slice(0, size)
  return text
}

/** Common substitutes for letters: `p@ssw0rd` becomes `password`. */
const LETTERS: Record<string, string> = { '@': 'a', 4: 'a', 3: 'e', 1: 'i', '!': 'i', 0: 'o', $: 's', 5: 's' }
const withLetters = (text: string): string => text.replace(/[@43!10$5]/g, (sign) => LETTERS[sign]!)

/**
 * Whether the password, in lower case, is one that attackers try first: a known password, or a word with little around
 * it.
 */
function isKnown(plain: string, breached: BreachedPasswordCheck): boolean {
  const known = (text: string) => common.has(text) || breached(text)
  if (known(plain)) return true
  // A symbol at the start may stand for a letter, while digits at the end are often a year.
  const cores = [plain, withLetters(plain.replace(/[^\p{L}]+$/u, ''))]
    .map(trimNonLetters)
    .filter((core) => core !== '')
  return cores.some(
    (core) => plain.length - core.length <= MOST_AROUND && (known(core) || known(period(core))),
  )
}

/** Whether the password consists of little more than names of the person, the team or the server. */
function isMadeOf(names: readonly string[], plain: string): boolean {
  const parts = names
    .flatMap((name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u))
    .filter((part) => [...part].length >= SHORTEST_NAME)
    .sort((a, b) => b.length - a.length)
  const rest = parts.reduce((left, part) => left.replaceAll(part, ''), plain)
  return rest !== plain && rest.replace(/[^\p{L}\p{N}]/gu, '').length < LEAST_OWN
}

/**
 * Checks a password. Length matters most, as in NIST SP 800-63B §3.1.1.2. Beyond that, only compromised, common and
 * predictable passwords are refused, as the same section requires; there are no rules about kinds of characters.
 * @param names what the password must not consist of: the person's address, the team, the host
 * @returns what is expected instead; null when the password is acceptable
 */
export function checkPassword(
  password: string,
  names: readonly string[],
  breached: BreachedPasswordCheck,
): string | null {
  const length = [...password].length
  if (length < SHORTEST_PASSWORD) return `at least ${SHORTEST_PASSWORD} characters`
  if (password.length > MAX_PASSWORD_LENGTH) return `at most ${MAX_PASSWORD_LENGTH} characters`
  const plain = password.toLowerCase()
  const trivial = new Set(plain).size < 4 || period(plain).length <= 4 || isSequence(plain)
  if (trivial || isKnown(plain, breached))
    return 'a password that is harder to guess, such as a few unrelated words'
  if (isMadeOf(names, plain))
    return 'a password that is not just your email address, or the name of the team or server'
  return null
}

import { LONGEST_PASSWORD } from './hasher.ts'

/** Shortest password, in characters. The dashboard can send mail as every domain of the team. */
const shortest = 10

/** What people choose when they must have ten characters; compared without digits and signs at the ends. */
const common = new Set(
  `password passwort passw0rd p@ssword p@ssw0rd passwordpassword administrator administrador welcome willkommen
  letmein letmeinnow iloveyou sunshine princess football baseball superman qwertyuiop qwertzuiop qwerty qwertz azerty
  azertyuiop asdfghjkl yxcvbnm zxcvbnm trustno1 changeme changemenow secret topsecret default master monkey dragon posthaste
  correcthorsebatterystaple`.split(/\s+/),
)
const sequences = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm']

/** Whether the text is a run through an alphabet or a keyboard, forwards or backwards. */
function isSequence(text: string): boolean {
  const backwards = [...text].reverse().join('')
  return sequences.some((all) => all.includes(text) || all.includes(backwards))
}

/** The shortest piece whose repetition is the text: `abab` is `ab`. */
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

/**
 * Whether a password will do. Length decides, as NIST SP 800-63B §3.1.1.2 has it; beyond that only what everybody guesses
 * first is refused: no rules about kinds of characters.
 * @param email the owner's address, which is no password either
 * @returns what is expected instead, null when it will do
 */
export function judgePassword(password: string, email: string): string | null {
  const length = [...password].length
  if (length < shortest) return `at least ${shortest} characters`
  if (password.length > LONGEST_PASSWORD) return `at most ${LONGEST_PASSWORD} characters`
  const plain = password.toLowerCase()
  const core = plain.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
  const trivial =
    new Set(plain).size < 4 ||
    period(plain).length <= 4 ||
    isSequence(plain) ||
    common.has(plain) ||
    common.has(core) ||
    common.has(period(core))
  if (trivial) return 'a password that is not the first to be guessed'
  const mailbox = email.toLowerCase()
  if (mailbox !== '' && (plain === mailbox || core === mailbox.split('@')[0]))
    return 'a password that is not your address'
  return null
}

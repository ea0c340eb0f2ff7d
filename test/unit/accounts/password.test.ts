import { expect, test } from 'vitest'
import { loadBreachedPasswords } from '../../../appliance/accounts/breached.ts'
import { checkPassword } from '../../../appliance/accounts/password.ts'

const names = ['mail.fernweh.example', 'Margarethe@example.com', 'Kupfer Kanne']
const breached = loadBreachedPasswords()

test.each([
  'correct horse battery',
  'Tr0ub4dor&3x',
  'zehn Zeichen',
  'пароль из слов',
  '🐎🔋📎✅🎉🎈🐳🌍🔥💧',
  '7391582640',
  'x'.repeat(3) + 'abcdefgh',
  'lorem ipsum '.repeat(80),
  'kupfer und zinn am see',
  'sunshine over 12 lakes',
  '2718 monkey 281828459',
])('the password %j is accepted', (password) => {
  expect(checkPassword(password, names, breached)).toBeNull()
})

const guessed = 'a password that is harder to guess, such as a few unrelated words'
const yours = 'a password that is not just your email address, or the name of the team or server'

test.each([
  ['', 'at least 10 characters'],
  ['short', 'at least 10 characters'],
  ['123456789', 'at least 10 characters'],
  ['🐎🔋📎✅🎉', 'at least 10 characters'],
  ['long '.repeat(300), 'at most 1024 characters'],
  ['aaaaaaaaaaaa', guessed],
  ['abababababab', guessed],
  ['abcdabcdabcd', guessed],
  ['0123456789', guessed],
  ['9876543210', guessed],
  ['abcdefghijkl', guessed],
  ['Qwertyuiop', guessed],
  ['Password123!', guessed],
  ['2024Password', guessed],
  ['passwordpassword', guessed],
  ['secretsecret', guessed],
  ['posthaste-2026', guessed],
  ['1qaz2wsx3edc', guessed],
  ['Manchester!!', guessed],
  ['Sunshine2024', guessed],
  ['P@ssw0rd2024', guessed],
  ['$unsh1ne-2024!', guessed],
  ['fernweh-mail-26', yours],
  ['Kupfer.Kanne.9', yours],
  ['example-kupfer', yours],
  ['margarethe@example.com', yours],
  ['margarethe1', yours],
])('the password %j is rejected: %s', (password, expected) => {
  expect(checkPassword(password, names, breached)).toBe(expected)
})

import { expect, test } from 'vitest'
import { judgePassword } from '../../../appliance/accounts/password.ts'

const email = 'Margarethe@example.com'

test.each([
  'correct horse battery',
  'Tr0ub4dor&3x',
  'zehn Zeichen',
  'пароль из слов',
  '🐎🔋📎✅🎉🎈🐳🌍🔥💧',
  '7391582640',
  'x'.repeat(3) + 'abcdefgh',
  'lorem ipsum '.repeat(80),
])('%j will do', (password) => {
  expect(judgePassword(password, email)).toBeNull()
})

test.each([
  ['', 'at least 10 characters'],
  ['short', 'at least 10 characters'],
  ['123456789', 'at least 10 characters'],
  ['🐎🔋📎✅🎉', 'at least 10 characters'],
  ['long '.repeat(300), 'at most 1024 characters'],
  ['aaaaaaaaaaaa', 'a password that is not the first to be guessed'],
  ['abababababab', 'a password that is not the first to be guessed'],
  ['abcdabcdabcd', 'a password that is not the first to be guessed'],
  ['0123456789', 'a password that is not the first to be guessed'],
  ['9876543210', 'a password that is not the first to be guessed'],
  ['abcdefghijkl', 'a password that is not the first to be guessed'],
  ['Qwertyuiop', 'a password that is not the first to be guessed'],
  ['Password123!', 'a password that is not the first to be guessed'],
  ['2024Password', 'a password that is not the first to be guessed'],
  ['passwordpassword', 'a password that is not the first to be guessed'],
  ['secretsecret', 'a password that is not the first to be guessed'],
  ['posthaste-2026', 'a password that is not the first to be guessed'],
  ['margarethe@example.com', 'a password that is not your address'],
  ['margarethe1', 'a password that is not your address'],
])('%j is refused: %s', (password, expected) => {
  expect(judgePassword(password, email)).toBe(expected)
})

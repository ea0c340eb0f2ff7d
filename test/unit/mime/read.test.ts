import { describe, expect, test } from 'vitest'
import { parseContent, parsePlainContent } from '../../../appliance/mime/read.ts'
import { parseHeader } from '../../../appliance/intake/message-fields.ts'

const from = 'From: a@acme.example\r\n'
const plain = (rest: string) => {
  const message = Buffer.from(from + rest)
  return parsePlainContent(message, parseHeader(message))
}

describe('the fast path for ASCII text messages', () => {
  test.each([
    '\r\nHi\r\n',
    '\r\nHi',
    '\r\nHi\r\n\r\n\r\n',
    '\r\n\r\n\r\nHi\r\n \r\n',
    'Subject:   a   b \r\n\r\nx  \r\n\r\n  y\t\r\n',
    'Subject: folded\r\n  twice\r\n\r\n.\r\n..\r\n',
    'Subject:\r\n\r\na\r\n',
    'Subject: x\r\n\r\n\r\n\r\n',
    'Content-Type: text/plain; charset=utf-8\r\n\r\na\r\n',
    'Content-Type: text/plain;\r\n charset="US-ASCII"\r\nContent-Transfer-Encoding: 7bit\r\n\r\n\r\na\r\n\r\n',
    'Content-Type: text/plain\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--x\r\nFrom me\r\n=20 &lt;\r\n',
  ])('returns the same result as the parser: %j', async (rest) => {
    expect(plain(rest)).toEqual(await parseContent(Buffer.from(from + rest)))
  })

  test.each([
    '',
    '\r\n',
    '\r\nGr\u00fc\u00dfe\r\n',
    'Subject: =?utf-8?q?Gr=C3=BC?=\r\n\r\nHi\r\n',
    'Content-Type: text/html\r\n\r\n<p>Hi\r\n',
    'Content-Type: text/plain; format=flowed\r\n\r\nHi \r\nthere\r\n',
    'Content-Type: text/plain; charset=utf-16\r\n\r\nHi\r\n',
    'Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nHi\r\n--x--\r\n',
    'Content-Transfer-Encoding: base64\r\n\r\nSGk=\r\n',
    'Content-Transfer-Encoding: quoted-printable\r\n\r\n=48i\r\n',
    'Content-Disposition: attachment\r\n\r\nHi\r\n',
  ])('the fast path rejects other messages: %j', (rest) => {
    expect(plain(rest)).toBeUndefined()
  })
})

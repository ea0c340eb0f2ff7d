import { describe, expect, test } from 'vitest'
import {
  encodeOriginalRecipient,
  encodeXtext,
  isReportWanted,
  type Notify,
  type ReportKind,
} from '../../../appliance/mail/dsn.ts'

describe('delivery reports (RFC 3461 §4.1)', () => {
  test.each<[Notify | null, ReportKind[]]>([
    [null, ['failed', 'delayed']],
    ['NEVER', []],
    [['FAILURE'], ['failed']],
    [['DELAY'], ['delayed']],
    [['SUCCESS'], ['relayed']],
    [
      ['SUCCESS', 'FAILURE', 'DELAY'],
      ['failed', 'delayed', 'relayed'],
    ],
  ])('the delivery reports for NOTIFY=%s are %j', (notify, wanted) => {
    const all: ReportKind[] = ['failed', 'delayed', 'relayed']
    expect(all.filter((kind) => isReportWanted(notify, kind))).toEqual(wanted)
  })
})

describe('xtext encoding (RFC 3461 §4)', () => {
  test.each([
    ['QQ314159', 'QQ314159'],
    ['a b+c=d', 'a+20b+2Bc+3Dd'],
    ['a\r\nRSET', 'a+0D+0ARSET'],
    ['ä', undefined],
  ])('the xtext encoding of %j is %s', (text, encoded) => expect(encodeXtext(text)).toBe(encoded))
})

describe('the encoded ORCPT parameter', () => {
  test.each([
    ['rfc822;a+b@example.net', 'rfc822;a+2Bb@example.net'],
    ['utf-8;gr\\x{F6}sse@example.net', 'utf-8;gr\\x{F6}sse@example.net'],
    ['UTF-8;größe+1@example.net', 'UTF-8;gr\\x{F6}\\x{DF}e\\x{2B}1@example.net'],
    ['utf-8;a\\b', 'utf-8;a\\x{5C}b'],
    ['utf-8;a\r\nDATA', 'utf-8;a\\x{0D}\\x{0A}DATA'],
    ['rfc822;größe@example.net', undefined],
    ['a@example.net', undefined],
    [';a', undefined],
  ])('the encoded ORCPT of %j is %s', (orcpt, encoded) =>
    expect(encodeOriginalRecipient(orcpt)).toBe(encoded),
  )
})

import { describe, expect, test } from 'vitest'
import { explained, verdictSentences } from '../../../ui/src/state/authentication.ts'

describe('a header field', () => {
  test.each([
    [
      'DKIM-Signature',
      'v=1; a=rsa-sha256; c=relaxed/relaxed; d=shop.example;\r\n s=posthaste; h=from:from:to:\r\n subject; bh=x=; b=y=',
      'shop.example answers for the body and 3 header fields, with its key posthaste (RSA).',
    ],
    [
      'dkim-signature',
      'v=1; a=ed25519-sha256; d=shop.example; s=k1; h=to; b=y',
      'shop.example answers for the body and 1 header field, with its key k1 (Ed25519). It does not cover From, so it says nothing.',
    ],
    [
      'Authentication-Results',
      'mx.example 1; dkim=pass (2048-bit; x) header.d=shop.example header.s=k1; spf=softfail smtp.mailfrom=send.shop.example; dmarc=fail header.from=shop.example; iprev=pass',
      'mx.example looked: DKIM for shop.example passed; SPF for send.shop.example failed softly: the sender is not listed, and the domain does not insist; DMARC for shop.example failed.',
    ],
    ['Received-SPF', 'Pass (mx.example: domain of x)', 'The check of SPF passed.'],
  ])('%s is explained', (name, value, sentence) => {
    expect(explained({ name, value })).toBe(sentence)
  })

  test.each([
    ['Subject', 'dkim=pass'],
    ['DKIM-Signature', 'nonsense'],
    ['Authentication-Results', 'mx.example; none'],
    ['Authentication-Results', ''],
    ['Received-SPF', 'constructor'],
    ['Authentication-Results', 'mx.example; constructor=pass'],
  ])('%s: %s is left as it is', (name, value) => {
    expect(explained({ name, value })).toBeNull()
  })
})

test('a message that arrived is told about check by check', () => {
  const from = 'The shop <hello@shop.example>'
  const message = { from, mail_from: 'bounce+1@send.shop.example', dkim: 'pass', spf: 'pass', dmarc: 'fail' }
  expect(verdictSentences(message)).toEqual([
    'DKIM passed: what was signed has not changed on the way.',
    'SPF for send.shop.example passed: the domain lists the address this came from.',
    'DMARC for shop.example failed.',
  ])
})

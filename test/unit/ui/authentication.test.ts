import { describe, expect, test } from 'vitest'
import {
  explainHeaderField,
  describeReceivedChecks,
  describeVerdicts,
} from '../../../ui/src/state/authentication.ts'

describe('explaining a header field', () => {
  test.each([
    [
      'DKIM-Signature',
      'v=1; a=rsa-sha256; c=relaxed/relaxed; d=shop.example;\r\n s=posthaste; h=from:from:to:\r\n subject; bh=x=; b=y=',
      'DKIM signature for shop.example, selector posthaste (RSA). It covers the body and 3 header fields.',
    ],
    [
      'dkim-signature',
      'v=1; a=ed25519-sha256; d=shop.example; s=k1; h=to; b=y',
      'DKIM signature for shop.example, selector k1 (Ed25519). It covers the body and 1 header field. It does not cover From, so it proves nothing.',
    ],
    [
      'Authentication-Results',
      'mx.example 1; dkim=pass (2048-bit; x) header.d=shop.example header.s=k1; spf=softfail smtp.mailfrom=send.shop.example; dmarc=fail header.from=shop.example; iprev=pass',
      'Checked by mx.example: DKIM for shop.example passed; SPF for send.shop.example soft-failed: the sender is not listed, but the domain does not ask for rejection; DMARC for shop.example failed.',
    ],
    ['Received-SPF', 'Pass (mx.example: domain of x)', 'SPF passed.'],
  ])('describes the header field %s', (name, value, sentence) => {
    expect(explainHeaderField({ name, value })).toBe(sentence)
  })

  test.each([
    ['Subject', 'dkim=pass'],
    ['DKIM-Signature', 'nonsense'],
    ['Authentication-Results', 'mx.example; none'],
    ['Authentication-Results', ''],
    ['Received-SPF', 'constructor'],
    ['Authentication-Results', 'mx.example; constructor=pass'],
  ])('returns no description for %s: %s', (name, value) => {
    expect(explainHeaderField({ name, value })).toBeNull()
  })
})

test('describes the authentication results of a captured message check by check', () => {
  const from = 'The shop <hello@shop.example>'
  const message = { from, mail_from: 'bounce+1@send.shop.example', dkim: 'pass', spf: 'pass', dmarc: 'fail' }
  expect(describeVerdicts(message)).toEqual([
    'DKIM passed: the signed content was not changed in transit.',
    'SPF for send.shop.example passed: the domain lists the sending IP.',
    'DMARC for shop.example failed.',
  ])
})

test('describes the authentication results of received mail with what each check proves', () => {
  const envelope = { mail_from: 'x@list.example', ip: '192.0.2.9', helo: 'mx', tls: null, size: 1 }
  const told = (spf: string, dkim: string, dmarc: string, arc: string) => {
    const of = (result: string, domain: string | null) => ({ result: result as 'pass', domain })
    const authentication_results = {
      spf: of(spf, 'list.example'),
      dkim: of(dkim, 'shop.example'),
      dmarc: of(dmarc, 'shop.example'),
      arc: of(arc, null),
    }
    return describeReceivedChecks({ authentication_results, envelope, spam: null })
  }
  expect(told('pass', 'pass', 'pass', 'none')).toEqual([
    'SPF for list.example passed: it lists 192.0.2.9, which is not the From domain shop.example.',
    'DKIM for shop.example passed: the signed content was not changed in transit.',
    'DMARC for shop.example passed: the message comes from the From domain.',
  ])
  expect(told('fail', 'none', 'fail', 'pass')).toEqual([
    'SPF for list.example failed.',
    'DKIM for shop.example found no record or signature to check.',
    'DMARC for shop.example failed: anyone may have written it.',
    'ARC passed: forwarding servers recorded earlier results, which are not trusted here.',
  ])
})

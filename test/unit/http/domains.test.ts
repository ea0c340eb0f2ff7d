import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Domain } from '../../../appliance/api/domains.ts'
import { errorText, hello, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const made = async (body: Record<string, unknown>): Promise<Domain> => {
  const { status, json } = await api.call('POST', '/domains', body)
  expect(status).toBe(201)
  return json as Domain
}

describe('a new domain', () => {
  test('a new domain is returned with its records and settings', async () => {
    const domain = await made({
      name: 'All.Example',
      region: 'eu-west-1',
      custom_return_path: 'out',
      tls: 'enforced',
      open_tracking: true,
      click_tracking: true,
      tracking_subdomain: 'links',
      capabilities: { sending: 'enabled', receiving: 'enabled' },
    })
    expect(domain).toMatchObject({
      object: 'domain',
      name: 'all.example',
      status: 'not_started',
      region: 'eu-west-1',
      open_tracking: true,
      click_tracking: true,
      tracking_subdomain: 'links',
      tls: 'enforced',
      capabilities: { sending: 'enabled', receiving: 'enabled' },
      custom_return_path: 'out',
      checked_at: null,
      next_check_at: null,
      failing_since: null,
      gives_up_at: null,
      notes: ['The domain receives mail once it is verified.'],
    })
    expect(
      domain.records.map(({ record, type, name, ttl, status, required }) => ({
        record,
        type,
        name,
        ttl,
        status,
        required,
      })),
    ).toEqual([
      {
        record: 'DKIM',
        type: 'TXT',
        name: 'posthaste._domainkey',
        ttl: 'Auto',
        status: 'not_started',
        required: true,
      },
      {
        record: 'DKIM',
        type: 'TXT',
        name: 'posthaste-ed25519._domainkey',
        ttl: 'Auto',
        status: 'not_started',
        required: false,
      },
      { record: 'SPF', type: 'MX', name: 'out', ttl: 'Auto', status: 'not_started', required: true },
      { record: 'SPF', type: 'TXT', name: 'out', ttl: 'Auto', status: 'not_started', required: true },
      {
        record: 'Receiving',
        type: 'MX',
        name: 'all.example',
        ttl: 'Auto',
        status: 'not_started',
        required: false,
      },
      {
        record: 'Tracking',
        type: 'CNAME',
        name: 'links',
        ttl: 'Auto',
        status: 'not_started',
        required: false,
      },
    ])
    expect(domain.recommended_records.map(({ record }) => record)).toEqual(['DMARC', 'TLS-RPT'])
    expect(domain.dkim_keys.map(({ algorithm, state }) => [algorithm, state])).toEqual([
      ['rsa-sha256', 'active'],
      ['ed25519-sha256', 'pending'],
    ])
    expect(JSON.stringify(domain)).not.toContain('rivate')
    expect((await api.call('GET', `/domains/${domain.id}`)).json).toEqual(domain)
  })

  test('a new domain requires only a name', async () => {
    expect(await made({ name: 'plain.example', unknown: 1 })).toMatchObject({
      region: 'us-east-1',
      open_tracking: false,
      click_tracking: false,
      tls: 'opportunistic',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      custom_return_path: 'send',
      notes: [],
    })
  })

  test('a new domain treats null and empty fields as unset', async () => {
    const unset = { region: null, custom_return_path: null, tls: null, capabilities: null }
    const silent = { open_tracking: null, click_tracking: null, tracking_subdomain: null }
    const plain = {
      region: 'us-east-1',
      custom_return_path: 'send',
      tls: 'opportunistic',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
    }
    expect(await made({ name: 'nulls.example', ...unset, ...silent })).toMatchObject(plain)
    const empty = { region: '', custom_return_path: '', tracking_subdomain: '' }
    const abilities = { capabilities: { sending: null, receiving: null } }
    expect(await made({ name: 'empties.example', ...empty, ...abilities })).toMatchObject(plain)
  })

  test('a new domain can be in the region of a pool, which the refusal of others names', async () => {
    await api.storage.setPoolRegion({ pool: 'north', region: 'oslo-1' }, 0)
    expect(await made({ name: 'oslo.example', region: 'Oslo-1' })).toMatchObject({ region: 'oslo-1' })
    const refused = await api.call('POST', '/domains', { name: 'x.example', region: 'oslo-2' })
    expect([refused.status, refused.json]).toEqual([
      422,
      {
        statusCode: 422,
        name: 'invalid_region',
        message: 'Region must be "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1" | "oslo-1".',
      },
    ])
    await api.storage.setPoolRegion({ pool: 'north', region: null }, 0)
  })

  test.each([
    [{}, 422, 'missing_required_field', 'Missing `name` field.'],
    [{ name: 7 }, 422, 'validation_error', 'Invalid `name` field: it must be a string.'],
    [
      { name: 'co.uk' },
      422,
      'validation_error',
      'Invalid `name` field: a domain below the public suffix co.uk.',
    ],
    [
      { name: 'acme.example' },
      400,
      'validation_error',
      'The acme.example domain has been registered already.',
    ],
    [
      { name: 'x.example', region: 'mars' },
      422,
      'invalid_region',
      'Region must be "us-east-1" | "eu-west-1" | "sa-east-1" | "ap-northeast-1".',
    ],
    [
      { name: 'x.example', tls: 'none' },
      422,
      'validation_error',
      'Invalid `tls` field: it must be "opportunistic" or "enforced".',
    ],
    [
      { name: 'x.example', custom_return_path: 'a b' },
      422,
      'validation_error',
      'Invalid `custom_return_path` field: a label such as send.',
    ],
    [
      { name: 'x.example', tracking_subdomain: '-' },
      422,
      'validation_error',
      'Invalid `tracking_subdomain` field: a label such as links.',
    ],
    [
      { name: 'x.example', tracking_subdomain: 'send' },
      422,
      'validation_error',
      "Invalid `tracking_subdomain` field: a label different from the return path's.",
    ],
    [
      { name: 'x.example', capabilities: { sending: 'disabled' } },
      422,
      'validation_error',
      'Invalid `capabilities` field: at least one capability must be enabled.',
    ],
  ])('rejects a new domain for %j with %i', async (body, status, name, message) => {
    expect((await api.call('POST', '/domains', body)).text).toBe(errorText(status, name, message))
  })
})

describe('an existing domain', () => {
  test('an update changes only the given settings', async () => {
    const { id } = await made({ name: 'change.example', open_tracking: true, tracking_subdomain: 'links' })
    const patch = {
      tls: 'enforced',
      open_tracking: false,
      tracking_subdomain: '',
      capabilities: { receiving: 'enabled' },
    }
    expect((await api.call('PATCH', `/domains/${id}`, patch)).json).toEqual({ object: 'domain', id })
    const { json } = await api.call('GET', `/domains/${id}`)
    expect(json).toMatchObject({
      tls: 'enforced',
      open_tracking: false,
      click_tracking: false,
      capabilities: { sending: 'enabled', receiving: 'enabled' },
    })
    expect(json).not.toHaveProperty('tracking_subdomain')
    expect((await api.call('PATCH', `/domains/${id}`, {})).status).toBe(200)
    const unset = { tls: null, open_tracking: null, click_tracking: null, capabilities: { receiving: null } }
    expect((await api.call('PATCH', `/domains/${id}`, unset)).status).toBe(200)
    expect((await api.call('GET', `/domains/${id}`)).json).toEqual(json)
  })

  test('a domain cannot have both capabilities disabled', async () => {
    const { id } = await made({ name: 'both.example' })
    const { text } = await api.call('PATCH', `/domains/${id}`, { capabilities: { sending: 'disabled' } })
    expect(text).toBe(
      errorText(
        422,
        'validation_error',
        'Invalid `capabilities` field: at least one capability must be enabled.',
      ),
    )
  })

  test('rejects mail from a domain with a reason if sending is disabled', async () => {
    const capabilities = (sending: string) => ({ capabilities: { sending, receiving: 'enabled' } })
    await api.call('PATCH', `/domains/${api.domain.id}`, capabilities('disabled'))
    expect((await api.call('POST', '/emails', hello)).text).toBe(
      errorText(
        403,
        'validation_error',
        'Sending from the acme.example domain is disabled. Enable its `sending` capability first.',
      ),
    )
    await api.call('PATCH', `/domains/${api.domain.id}`, capabilities('enabled'))
    expect((await api.call('POST', '/emails', hello)).status).toBe(200)
  })

  test('a domain becomes pending for 72 hours when verification is requested', async () => {
    const { id } = await made({ name: 'verify.example' })
    expect((await api.call('POST', `/domains/${id}/verify`)).json).toEqual({ object: 'domain', id })
    const domain = (await api.call('GET', `/domains/${id}`)).json as Domain
    expect(domain).toMatchObject({ status: 'pending', status_since: domain.next_check_at })
    const time = (text: string | null) => Date.parse(text!.replace('+00', 'Z'))
    expect(time(domain.gives_up_at) - time(domain.next_check_at)).toBe(72 * 3_600_000)
  })

  test('a verified domain stays verified during another verification', async () => {
    await api.call('POST', `/domains/${api.domain.id}/verify`)
    expect((await api.call('GET', `/domains/${api.domain.id}`)).json).toMatchObject({ status: 'verified' })
  })

  test('a rotation adds new DKIM keys next to the old ones, and a second request adds no more', async () => {
    const { id } = await made({ name: 'rotate.example' })
    const first = await api.call('POST', `/domains/${id}/dkim/rotate`)
    expect(first.json).toMatchObject({ object: 'dkim_rotation', domain_id: id })
    const { dkim_keys: keys } = first.json as Pick<Domain, 'dkim_keys'>
    expect(keys.map(({ algorithm, state }) => [algorithm, state])).toEqual([
      ['rsa-sha256', 'pending'],
      ['ed25519-sha256', 'pending'],
    ])
    expect(keys[0]!.selector).toMatch(/^posthaste-\d{8}$/)
    expect((await api.call('POST', `/domains/${id}/dkim/rotate`)).json).toEqual(first.json)
    const domain = (await api.call('GET', `/domains/${id}`)).json as Domain
    expect(domain.dkim_keys.map(({ state }) => state)).toEqual(['active', 'pending', 'pending'])
    expect(domain.records.filter(({ record }) => record === 'DKIM')).toHaveLength(3)
  })

  test('a deleted domain is not found, and can be added again', async () => {
    const { id } = await made({ name: 'gone.example' })
    expect((await api.call('DELETE', `/domains/${id}`)).json).toEqual({ object: 'domain', id, deleted: true })
    expect((await api.call('DELETE', `/domains/${id}`)).text).toBe(
      errorText(404, 'not_found', 'Domain not found'),
    )
    await made({ name: 'gone.example' })
  })

  test('every route returns 404 for an unknown domain ID', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/verify'],
      ['POST', '/dkim/rotate'],
    ] as const) {
      const body = method === 'PATCH' ? { tls: 'enforced' } : undefined
      const { text } = await api.call(method, `/domains/${newId(Date.now())}${path}`, body)
      expect(text).toBe(errorText(404, 'not_found', 'Domain not found'))
    }
  })
})

import { expect, test } from 'vitest'
import type { DoctorReport } from '../../../appliance/api/doctor.ts'
import { getNodeBadge } from '../../../ui/src/state/node-health.ts'

const health = { object: 'health' as const, status: 'ok' as const, reasons: [] }
const check = (status: 'failed' | 'warning' | 'ok', title: string) => ({
  id: title,
  title,
  status,
  found: `${title} is ${status} at 10.5 %. More words.`,
  advice: null,
})
const doctor = (status: DoctorReport['status'], ...checks: DoctorReport['checks']): DoctorReport => ({
  object: 'doctor',
  status,
  complete: true,
  checked_at: '',
  checks,
})

test.each([
  [
    'the server does not respond',
    { health: undefined, error: 'refused' },
    'bad',
    'No response from the server',
  ],
  ['the status is not known yet', { health: undefined }, 'none', null],
  [
    'mail is refused',
    { health: { ...health, status: 'unavailable' as const, reasons: ['The disk is full.'] } },
    'bad',
    'The disk is full.',
  ],
  ['all checks pass', { health, doctor: doctor('ok', check('ok', 'Disk')) }, 'good', null],
  ['no check has run', { health }, 'good', null],
  [
    'a check failed',
    { health, doctor: doctor('failed', check('failed', 'DNS'), check('warning', 'SPF')) },
    'bad',
    'DNS: DNS is failed at 10.5 %.',
  ],
  [
    'a check warns',
    { health, doctor: doctor('warning', check('warning', 'SPF')) },
    'warn',
    'SPF: SPF is warning at 10.5 %.',
  ],
])('the status dot has the right color and text when %s', (_, known, tone, problem) => {
  expect(getNodeBadge({ error: null, doctor: undefined, ...known })).toMatchObject({ tone, problem })
})

/** API calls for alerts. */
import type { Static } from 'typebox'
import type { AlertList, AlertSettings } from '../../../appliance/api/alerts.ts'
import type { Cursor } from './calls.ts'
import { change, read, withParameters } from './client.ts'

/** The most open alerts that are counted. */
const MOST_COUNTED = 100

/** Lists one page of alerts. @param status empty: all */
export const listAlerts = (status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof AlertList>>(withParameters('/alerts', { status, after, before, limit: 50 }), signal)

/** Lists open alerts, to count them. */
export const openAlerts = (signal?: AbortSignal) =>
  read<Static<typeof AlertList>>(withParameters('/alerts', { status: 'open', limit: MOST_COUNTED }), signal)

export const getAlertSettings = (signal?: AbortSignal) => read<AlertSettings>('/alert-settings', signal)

export const setAlertSettings = (settings: Pick<AlertSettings, 'email' | 'muted'>) =>
  change<AlertSettings>('PUT', '/alert-settings', settings)

/** API calls for the reputation of domains and sending IPs, and for alerts about it. */
import type { Static } from 'typebox'
import type { AlertList, AlertSettings } from '../../../appliance/api/alerts.ts'
import type { DomainReputation, SourceReputation } from '../../../appliance/api/reputation.ts'
import type { DomainInsights } from '../../../appliance/api/insight-counts.ts'
import type { Cursor } from './calls.ts'
import { change, read, addQueryString } from './client.ts'

export type { DomainReputation, SourceReputation }

export const getDomainReputation = (domain: string, days: number, signal?: AbortSignal) =>
  read<DomainReputation>(`/domains/${encodeURIComponent(domain)}/reputation?days=${days}`, signal)

export const getSourceReputation = (ip: string, days: number, signal?: AbortSignal) =>
  read<SourceReputation>(`/sources/${encodeURIComponent(ip)}/reputation?days=${days}`, signal)

export const getDomainInsights = (domain: string, days: number, signal?: AbortSignal) =>
  read<DomainInsights>(`/domains/${encodeURIComponent(domain)}/insights?days=${days}`, signal)

/** Maximum number of open alerts that are counted. */
const MOST_COUNTED = 100

/**
 * Lists one page of alerts.
 * @param status empty for all
 */
export const listAlerts = (status: string, { after, before }: Cursor, signal?: AbortSignal) =>
  read<Static<typeof AlertList>>(addQueryString('/alerts', { status, after, before, limit: 50 }), signal)

/** Lists open alerts for the count in the navigation, at most `MOST_COUNTED`. */
export const listOpenAlerts = (signal?: AbortSignal) =>
  read<Static<typeof AlertList>>(addQueryString('/alerts', { status: 'open', limit: MOST_COUNTED }), signal)

export const getAlertSettings = (signal?: AbortSignal) => read<AlertSettings>('/alert-settings', signal)

export const setAlertSettings = (settings: Pick<AlertSettings, 'email' | 'muted'>) =>
  change<AlertSettings>('PUT', '/alert-settings', settings)

/** API calls for sending IPs and providers. */
import type { Static } from 'typebox'
import type { Provider, ProviderList, UpdateProvider } from '../../../appliance/api/shaping.ts'
import type {
  CreatePoolAssignment,
  CreateSource,
  Pool,
  PoolAssignmentList,
  PoolList,
  Source,
  SourceList,
  UpdateSource,
} from '../../../appliance/api/sources.ts'
import type { TlsPolicy, TlsResultList } from '../../../appliance/api/tls.ts'
import { change, read } from './client.ts'

export type { Pool, Provider, Source, TlsPolicy }

const id = encodeURIComponent

export const listSources = (signal?: AbortSignal) => read<Static<typeof SourceList>>('/sources', signal)

export const addSource = (body: Static<typeof CreateSource>) => change<Source>('POST', '/sources', body)

export const updateSource = (ip: string, body: Static<typeof UpdateSource>) =>
  change<Source>('PATCH', `/sources/${id(ip)}`, body)

export const removeSource = (ip: string) => change('DELETE', `/sources/${id(ip)}`)

export const listPools = (signal?: AbortSignal) => read<Static<typeof PoolList>>('/sources/pools', signal)

/** Puts a pool in a region, or in none. */
export const setPoolRegion = (pool: string, region: string | null) =>
  change<Pool>('PATCH', `/sources/pools/${id(pool)}`, { region })

export const listAssignments = (signal?: AbortSignal) =>
  read<Static<typeof PoolAssignmentList>>('/sources/assignments', signal)

export const createAssignment = (body: Static<typeof CreatePoolAssignment>) =>
  change('POST', '/sources/assignments', body)

export const deleteAssignment = (assignment: string) =>
  change('DELETE', `/sources/assignments/${id(assignment)}`)

export const listProviders = (signal?: AbortSignal) => read<Static<typeof ProviderList>>('/providers', signal)

/** Updates a provider. A null value restores the setting from providers.toml. */
export const updateProvider = (provider: string, body: Static<typeof UpdateProvider>) =>
  change<Provider>('PATCH', `/providers/${id(provider)}`, body)

export const listTlsResults = (signal?: AbortSignal) =>
  read<Static<typeof TlsResultList>>('/tls/results', signal)

/** Looks up the TLS policy of a domain now. */
export const getTlsPolicy = (domain: string, signal?: AbortSignal) =>
  read<TlsPolicy>(`/tls/policies/${id(domain)}`, signal)

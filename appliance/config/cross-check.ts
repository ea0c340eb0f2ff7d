import type { Complaint } from './complaint.ts'
import type { Given } from './environment.ts'

/** What no single key can tell: settings that do not go together. Runs when each of them is sound. */
export function crossCheck(
  values: ReadonlyMap<string, unknown>,
  given: ReadonlyMap<string, Given>,
): Complaint[] {
  const complaints: Complaint[] = []
  const complain = (key: string, message: string) => {
    const place = given.get(key)?.at('') ?? { file: null, line: null, variable: null, key }
    complaints.push({ ...place, message })
  }
  if (values.get('storage.engine') === 'postgres')
    complain('storage.engine', 'storage.engine "postgres" is not available in this version; use "sqlite".')
  const [cert, key] = [values.get('tls.cert'), values.get('tls.key')]
  if ((cert === undefined) !== (key === undefined))
    complain(
      cert === undefined ? 'tls.key' : 'tls.cert',
      'tls.cert and tls.key go together: set both or neither.',
    )
  const all = 'delivery.max_connections'
  const one = 'delivery.max_connections_per_domain'
  const [most, each] = [Number(values.get(all)), Number(values.get(one))]
  if (each > most) complain(given.has(one) ? one : all, `${one} is ${each}, more than ${all} (${most}).`)
  return complaints
}

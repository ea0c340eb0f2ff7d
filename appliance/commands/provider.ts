import { loadProviders } from '../config/config.ts'
import {
  createShapingOperations,
  NUMBER_SETTINGS,
  type Provider,
  type ShapingOperations,
} from '../shaping/shaping.ts'
import { presentProvider } from '../api/shaping.ts'
import { presentList } from '../api/shared.ts'
import { UsageError, parseArgument, type Context } from './context.ts'
import { formatTable } from './output.ts'

/** Returns the providers and lanes of the configured table and the storage. */
export function openShaping({ config, storage, clock }: Context): ShapingOperations {
  const { providers, max_connections_per_domain: connections } = config.delivery
  return createShapingOperations({ storage, clock, table: () => loadProviders({ connections }, providers) })
}

/** `provider list`: prints the limits of each provider. */
export async function listProviders(context: Context): Promise<void> {
  const { output } = context
  const providers = await openShaping(context).providers()
  output.object(presentList(providers.map(presentProvider)))
  const rows = providers.map(({ id, limits, name }) => [
    id,
    ...NUMBER_SETTINGS.map(({ key }) => String(limits[key])),
    name,
  ])
  const heads = ['ID', 'CONNS', 'PER CONN', 'PER MIN', 'RCPTS', 'IDLE S', 'NAME']
  output.text(...formatTable(heads, rows))
}

/** `provider show`: prints a provider with its mail exchangers, warm-up and the replies that pause it. */
export async function showProvider(context: Context, id: string): Promise<void> {
  show(context, await openShaping(context).provider(id.toLowerCase()))
}

/** `provider set`: `name=number`, `warm_up=50,100,200`, or `name=` to reset a setting to the file's value. */
export async function setProvider(context: Context, [id, ...words]: string[]): Promise<void> {
  const change = Object.fromEntries(words.map(readWord))
  show(context, await parseArgument(() => openShaping(context).setProvider(id!.toLowerCase(), change)))
}

function readWord(word: string): [string, unknown] {
  const [, name, value] = /^([a-z_]+)=([\d,]*)$/.exec(word) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError(`"${word}" is not valid. Use name=number, such as connections=3.`)
  if (value === '') return [name, null]
  return [name, name === 'warm_up' ? value.split(',').map(Number) : Number(value)]
}

function show({ output }: Context, provider: Provider): void {
  const { id, name, mx, limits, warmUp, pauses, changed } = provider
  output.object(presentProvider(provider))
  output.text(
    `${id}  ${name}`,
    ...(mx.length > 0 ? [`exchangers  ${mx.join(', ')}`] : []),
    '',
    ...formatTable(
      ['SETTING', 'VALUE', ''],
      [
        ...NUMBER_SETTINGS.map((one) => [
          one.name,
          String(limits[one.key]),
          changed.includes(one.name) ? 'changed' : '',
        ]),
        ['warm_up', warmUp.join(','), changed.includes('warm_up') ? 'changed' : ''],
      ],
    ),
    '',
    ...pauses.map(
      ({ minutes, says, text, enhanced }) =>
        `pauses ${minutes} minutes if the provider ${says} (${[enhanced?.source, text?.source].filter(Boolean).join(' and ')})`,
    ),
  )
}

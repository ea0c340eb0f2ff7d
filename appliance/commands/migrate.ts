import type { Adapters, Context } from './context.ts'
import { formatBytes, formatInstant, formatTable } from './output.ts'

/**
 * `migrate`: migrates the database, which happens when it is opened. Prints the version, and where copies of older
 * versions are.
 */
export async function migrate({ config, output }: Context, adapters: Adapters): Promise<void> {
  const { schemaVersion, listUpgradeSnapshots, databaseName } = await adapters()
  const version = schemaVersion(config)
  const snapshots = listUpgradeSnapshots(config)
  output.object({
    object: 'migration',
    schema: version,
    data_dir: config.data_dir,
    snapshots: snapshots.map(({ file, schema, size, createdAt }) => ({
      file,
      schema,
      size,
      created_at: new Date(createdAt).toISOString(),
    })),
  })
  output.text(`The database in ${databaseName(config)} is up to date: schema ${version}.`)
  if (snapshots.length === 0) return
  const rows = snapshots.map((one) => [
    formatInstant(one.createdAt),
    String(one.schema),
    formatBytes(one.size),
    one.file,
  ])
  output.text('', 'Copies made before upgrades:', ...formatTable(['MADE', 'SCHEMA', 'SIZE', 'FILE'], rows))
}

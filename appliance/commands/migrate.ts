import type { Context } from './context.ts'

/** `migrate`: brings the database up to date. Opening it does that; this tells what it is at. */
export async function migrate({ config, output, schemaVersion }: Context): Promise<void> {
  const version = await schemaVersion()
  output.object({ object: 'migration', schema: version, data_dir: config.data_dir })
  output.text(`The database in ${config.data_dir} is up to date: schema ${version}.`)
}

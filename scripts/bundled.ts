/** What the bundle (scripts/bundle.ts) leaves in node_modules: native parts, and what is loaded only when somebody needs it. */
export const EXTERNAL = ['better-sqlite3', '@node-rs/argon2', 'chrono-node']

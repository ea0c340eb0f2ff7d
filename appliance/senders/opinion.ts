/** What the judge of one kind of record says: whether receivers will take it, and if not, why and what to do. */
export type Opinion = { right: true } | { right: false; note: string }

export const right: Opinion = { right: true }

/** An adverse opinion with its sentence. */
export const wrong = (note: string): Opinion => ({ right: false, note })

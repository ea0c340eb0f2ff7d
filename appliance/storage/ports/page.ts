/** Pages run newest first; `after` and `before` are ids and exclusive. */
export interface PageArgs {
  teamId: string
  limit: number
  after?: string | undefined
  before?: string | undefined
}
export interface Page<T> {
  items: T[]
  hasMore: boolean
}

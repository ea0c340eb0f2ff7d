import type { RequestLog } from '../storage.ts'
import type { Connection } from './connection.ts'

/** `Storage.saveLogs`, hot: every request of an app comes by here. */
export function createSaveLogs(db: Connection): (args: { logs: RequestLog[] }, now: number) => void {
  const insertLog = db.prepare(
    `insert into request_logs (id, team_id, api_key_id, method, endpoint, status, duration_ms, ip, user_agent,
       request_body, response_body, created_at, query, enhanced, message)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertEmail = db.prepare(
    'insert into request_log_emails (log_id, email_id, team_id) values (?, ?, ?)',
  )
  return ({ logs }) => {
    for (const log of logs) {
      const { id, teamId, apiKeyId, method, endpoint, status, durationMs, ip, userAgent } = log
      const { requestBody, responseBody, emailIds, createdAt, query, enhanced, message } = log
      const about = [id, teamId, apiKeyId, method, endpoint, status, durationMs, ip, userAgent]
      insertLog.run(...about, requestBody, responseBody, createdAt, query, enhanced, message)
      for (const emailId of emailIds) insertEmail.run(id, emailId, teamId)
    }
  }
}

import { Type } from 'typebox'
import { section, stringList } from './formats.ts'

/** `[doctor]`. */
export const doctorSection = section(
  'Self-checks: `posthaste doctor` and the hourly check of the sending IPs.',
  {
    blocklists: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'TOML file with the blocklists to query. Default: the built-in file, config/blocklists.toml.',
      }),
    ),
    targets: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          "TOML file with the hosts used to test this machine's internet connection. Default: the built-in file, config/doctor.toml.",
      }),
    ),
  },
)

/** `[metrics]`. */
export const metricsSection = section(
  'Endpoints for Prometheus and load balancers: GET /metrics, /healthz and /readyz.',
  {
    listen: stringList(
      'Addresses of a separate listener without authentication, host:port. Choose addresses that are not reachable from outside. An empty list turns this listener off. On http.listen, /metrics requires an API key of the team that operates the server.',
      'host-port',
    ),
  },
)

/** `[log]`. */
export const logSection = section('Logging to standard output.', {
  level: Type.Union(
    (['debug', 'info', 'warn', 'error'] as const).map((level) => Type.Literal(level)),
    { default: 'info', description: 'Lowest level to log: debug, info, warn or error.' },
  ),
})

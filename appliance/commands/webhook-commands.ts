/** Registers the commands about webhooks. */
import { Argument, Option } from 'commander'
import type { Registrar } from './registrar.ts'
import { parseId } from './values.ts'
import * as webhook from './webhook.ts'

/** Registers `webhook`. */
export function registerWebhookCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const commands = group('webhook', 'Manage webhooks')
  const id = () => new Argument('<id>', 'Webhook ID').argParser(parseId)
  addInTeam('list', 'List webhooks and their success rates', commands).action(does(webhook.listWebhooks))
  addInTeam('show', 'Show a webhook, its signing secret and recent requests', commands)
    .addArgument(id())
    .action(doesTo(webhook.showWebhook))
  addInTeam('add', 'Add a webhook', commands)
    .argument('<url>', 'https:// URL on a public host, or a host in webhooks.allow_networks')
    .option('--events <types>', 'Comma-separated event types (default: all email events)')
    .option('--without-broadcasts', 'Send no events of broadcast emails to it')
    .action(
      doesWith((context, [url], options: webhook.AddWebhookOptions) =>
        webhook.addWebhook(context, url!, options),
      ),
    )
  addInTeam('set', 'Change the URL and the events of a webhook', commands)
    .addArgument(id())
    .option('--url <url>', 'New URL')
    .option('--events <types>', 'Comma-separated event types')
    .addOption(
      new Option('--broadcasts <on|off>', 'Whether to send events of broadcast emails to it').choices([
        'on',
        'off',
      ]),
    )
    .action(
      doesWith((context, [which], options: webhook.SetWebhookOptions) =>
        webhook.setWebhook(context, which!, options),
      ),
    )
  addInTeam('enable', 'Enable a webhook', commands).addArgument(id()).action(doesTo(webhook.enableWebhook))
  addInTeam('disable', 'Disable a webhook', commands).addArgument(id()).action(doesTo(webhook.disableWebhook))
  addInTeam('rotate', 'Rotate the signing secret; the old one stays valid for 24 hours', commands)
    .addArgument(id())
    .action(doesTo(webhook.rotateWebhook))
  addInTeam('ping', 'Send a test event now', commands).addArgument(id()).action(doesTo(webhook.pingWebhook))
  addInTeam('replay', 'Send events again, selected by ID or time range', commands)
    .addArgument(id())
    .option('--event-ids <ids>', 'Comma-separated event IDs')
    .option('--since <instant>', 'Instead of IDs: start of the time range, ISO 8601')
    .option('--until <instant>', 'End of the time range (default: now)')
    .option('--all', 'Include events that were delivered successfully')
    .action(
      doesWith((context, [which], options: webhook.ReplayOptions) =>
        webhook.replayWebhook(context, which!, options),
      ),
    )
  addInTeam('remove', 'Remove a webhook and its log', commands)
    .addArgument(id())
    .action(doesTo(webhook.removeWebhook))
}

/** The arguments and options of the commands about contacts, segments and topics; contact.ts implements them. */
import { Argument, type Command, Option } from 'commander'
import { CONFLICT_ACTIONS } from '../mail/contact-import.ts'
import * as contact from './contact.ts'
import type { Registrar } from './registrar.ts'
import { parseCount, parseId } from './values.ts'

/** Registers `contact`, `segment` and `topic`. */
export function registerContactCommands({ group, addInTeam, does, doesTo, doesWith }: Registrar): void {
  const inSegment = () => new Option('--segment <id>', 'Only contacts in this segment').argParser(parseId)
  const contacts = group('contact', 'List, import and export contacts')
  addInTeam('list', 'List contacts, newest first', contacts)
    .option('--search <text>', 'Only contacts whose address or name contains this text')
    .addOption(inSegment())
    .option('--limit <count>', 'Maximum number of rows, at most 1,000 (default: 100)', parseCount)
    .action(does(contact.listContacts))
  addInTeam('show', 'Show a contact with its segments and topics', contacts)
    .argument('<contact>', 'Email address or ID')
    .action(doesTo(contact.showContact))
  withImport(addInTeam('import', 'Queue a CSV file of contacts; the running server imports it', contacts))
    .addOption(new Option('--segment <id>', 'Segment to add the contacts to').argParser(parseId))
    .action(doesWith(contact.importContacts))
  addInTeam('undo', 'Remove the contacts that an import created in the last 24 hours', contacts)
    .addArgument(new Argument('<import>', 'Import ID').argParser(parseId))
    .action(doesTo(contact.undoImport))
  addInTeam('export', "Print contacts as CSV, or all of one person's data as JSON", contacts)
    .argument('[contact]', 'Email address or ID: print everything stored about this person')
    .addOption(inSegment())
    .action(doesWith(contact.exportContacts))

  const segments = group('segment', 'List segments; import and export their contacts')
  const id = (what: string) => new Argument('<id>', `${what} ID`).argParser(parseId)
  addInTeam('list', 'List segments and their sizes', segments).action(does(contact.listSegments))
  addInTeam('show', 'Show a segment and its rules', segments)
    .addArgument(id('Segment'))
    .action(doesTo(contact.showSegment))
  withImport(
    addInTeam('import', 'Queue a CSV file of contacts for a segment', segments).addArgument(id('Segment')),
  ).action(doesWith(contact.importIntoSegment))
  addInTeam('export', 'Print the contacts of a segment as CSV', segments)
    .addArgument(id('Segment'))
    .action(doesTo(contact.exportSegment))
  const topics = group('topic', 'List topics; import and export their contacts')
  addInTeam('list', 'List topics and who chose them', topics).action(does(contact.listTopics))
  addInTeam('show', 'Show a topic', topics).addArgument(id('Topic')).action(doesTo(contact.showTopic))
  withImport(
    addInTeam('import', 'Queue a CSV file of contacts who asked for a topic', topics).addArgument(
      id('Topic'),
    ),
  ).action(doesWith(contact.importIntoTopic))
  addInTeam('export', 'Print the contacts that opted in to a topic as CSV', topics)
    .addArgument(id('Topic'))
    .action(doesTo(contact.exportTopic))
}

/** Adds the options of all commands that import a CSV file. */
const withImport = (command: Command): Command =>
  command
    .argument('<file>', 'CSV file, or - for standard input')
    .option('--preview', 'Show what would be imported, without changing anything')
    .addOption(
      new Option('--on-conflict <way>', 'What happens to contacts that exist (default: upsert)').choices(
        CONFLICT_ACTIONS,
      ),
    )
    .option('--consent <text>', 'How these people agreed to get mail; kept with the import')

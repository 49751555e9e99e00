// The parts of the pages about components, monitors and cases that code decides: variables, limits, exit codes, the clock. `npm run gen` writes them between two
// markers, so that each fact is stated once, in the code that has it.
import {
  DEFAULT_CONCURRENCY,
  DEFAULT_OUTPUT,
  MAX_CONCURRENCY,
  MAX_OUTPUT as MAX_CHECK_OUTPUT,
  MIN_INTERVAL_MS,
} from '#api/agent-config/monitor-config.ts'
import { MAX_FILE } from '#agent/detect/npd/monitor-file.ts'
import { MAX_MESSAGE } from '#agent/detect/npd/monitors.ts'
import { MAX_READ, NOT_STARTED_CODES, statusOf } from '#agent/detect/npd/run-plugin.ts'
import { FLOOD_BYTES } from '#agent/hook.ts'
import { checkVariables, componentVariables, nodeVariables } from '#agent/node-variables.ts'
import { MAX_DATA_BYTES, MAX_FILES, MAX_OUTPUT } from '#agent/repair/run-program.ts'
import { DEFAULT_TIMEOUT } from '#agent/repair/run-script.ts'
import { MAX_LOG_BYTES } from '#agent/supervise/log-file.ts'
import { CASES_NOW, CASE_VERDICTS } from '#policy/rule-cases.ts'
import { KIB } from '#lib/bytes.ts'

const BIN = 'NODE'
const variables = nodeVariables({ address: '', machine: '', node: '', root: '', binFolder: BIN })
const ofComponent = componentVariables(variables, '')
const ofCheck = checkVariables(variables, BIN)

const path = (text: string): string =>
  `the folder of the Node.js that the agent runs on, then \`${text.replace(`${BIN}:`, '')}\``

/** What each variable has; one that the code adds without a word here is a finding of the tests. */
const MEANING: Readonly<Record<string, string>> = {
  KUBENODE_ROOT:
    'the root of the node: `/` on a host; the folder `root` of a node that is a folder. Put it before every path: `"$KUBENODE_ROOT/var/lib/lamp"`',
  KUBENODE_ADDRESS:
    "the address to listen on. On a host `127.0.0.1`, or `address` of the agent's configuration; on a node that is a folder an address of its own below `127.0.0.0/8`, so that several nodes of one machine may use one port",
  KUBENODE_MACHINE: 'the name of the Machine',
  KUBENODE_NODE: 'the name of the Node',
  KUBENODE_COMPONENT: "the component; only for the component's own process",
}

const variableTable = (given: Readonly<Record<string, string>>): string =>
  table(
    ['variable', 'content'],
    [
      ...Object.keys(given)
        .filter((name) => name !== 'PATH')
        .toSorted()
        .map((name) => [`\`${name}\``, MEANING[name] ?? 'not described']),
      ['`PATH`', path(given['PATH'] ?? '')],
    ],
  )

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

const bytes = (n: number): string =>
  n % KIB ** 3 === 0
    ? `${n / KIB ** 3} GiB`
    : n % KIB ** 2 === 0
      ? `${n / KIB ** 2} MiB`
      : n % KIB === 0
        ? `${n / KIB} KiB`
        : `${n} bytes`

const limits = (rows: readonly (readonly [string, string])[]): string => table(['limit', 'value'], rows)

const STATUS: Readonly<Record<ReturnType<typeof statusOf>, string>> = {
  Ok: 'healthy',
  NonOk: 'the problem exists',
  Unknown: 'Unknown',
}

/** Each block by its name: what is between its markers. */
const BLOCKS: Readonly<Record<string, string>> = {
  'variables of components': variableTable(ofComponent),
  'limits of components': limits([
    ['log of a component without systemd', `${bytes(MAX_LOG_BYTES)}, then rotated`],
    ['output of a hook', `killed after ${bytes(FLOOD_BYTES)}`],
    ['time of a script without `script.timeout`', DEFAULT_TIMEOUT],
    ['data of a script', bytes(MAX_DATA_BYTES)],
    ['open files of a script', `${MAX_FILES}`],
    ['output of a script that is kept', bytes(MAX_OUTPUT)],
  ]),
  'variables of checks': variableTable(ofCheck),
  'exit codes of checks': table(
    ['exit code', 'the condition'],
    [
      ['0', STATUS[statusOf(0)]],
      ['1', STATUS[statusOf(1)]],
      [
        `${[...NOT_STARTED_CODES].join(', ')}, or it cannot be started`,
        `${STATUS[statusOf([...NOT_STARTED_CODES][0])]}, and \`DetectionIncomplete\` names the check`,
      ],
      ['any other, a signal, a timeout', STATUS[statusOf(undefined)]],
    ],
  ),
  'limits of checks': limits([
    ['file of a monitor', bytes(MAX_FILE)],
    ['standard output that is read', bytes(MAX_READ)],
    ['message: `max_output_length`', `${DEFAULT_OUTPUT} bytes unless set, at most ${MAX_CHECK_OUTPUT}`],
    ['message in a condition', `${MAX_MESSAGE} characters`],
    ['checks at a time: `concurrency`', `${DEFAULT_CONCURRENCY} unless set, at most ${MAX_CONCURRENCY}`],
    ['`invoke_interval`', `at least ${MIN_INTERVAL_MS / 1_000} s`],
  ]),
  'clock of cases': `The time in all cases is **${new Date(CASES_NOW).toISOString().replace('.000', '')}**.`,
  'verdicts of cases': `\`verdict\` is one of ${Object.keys(CASE_VERDICTS)
    .map((verdict) => `\`${verdict}\``)
    .join(', ')}.`,
}

export const CONTRACT_PAGES: readonly string[] = [
  'docs/reference/component-contract.md',
  'docs/reference/monitor-contract.md',
  'docs/reference/case-contract.md',
]

const BLOCK = /<!-- generated: ([\w ]+) -->\n[^]*?<!-- end -->/g

/** The page with what the code says now; a marker without a block is a mistake in the page. */
export const withContract = (page: string): string =>
  page.replace(BLOCK, (_, name: string) => {
    const text = BLOCKS[name]
    if (text === undefined) throw new Error(`no generated block is called "${name}"`)
    return `<!-- generated: ${name} -->\n${text}\n<!-- end -->`
  })

/** For the test that every block is on one page. */
export const blockNames = (page: string): readonly string[] => [...page.matchAll(BLOCK)].map(([, name = '']) => name)
export const BLOCK_NAMES = Object.keys(BLOCKS)

// A program for tests: the agent's detectors on the machine that its mount namespace shows. Prints each change of a condition as a line of JSON.
import { parseDetect } from '#api/agent-config/detect-config.ts'
import { agentEvents } from '#agent/agent-events.ts'
import { Detection } from '#agent/detect/detection.ts'
import { ProblemBoard } from '#agent/detect/problem-board.ts'
import { realFiles } from '#agent/files/real.ts'
import { nodeDir } from '#agent/node-dir.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'

const [folder = '', settings = '{}'] = process.argv.slice(2)
const client = {
  get: async () => undefined,
  create: async (_: unknown, o: KubeObject) => o,
  patch: async () => undefined,
} as unknown as KubeClient
const base = {
  files: realFiles,
  dir: nodeDir(folder, '/'),
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
  bootId: 'b',
}
const components = () => new Map()
const { detect, problems } = parseDetect({ detectors: JSON.parse(settings) as object })
if (problems.length > 0) throw new Error(problems.join('; '))
const board: ProblemBoard = new ProblemBoard({
  ...base,
  sources: [],
  clearAfterMs: 10,
  components,
  onChange: () => undefined,
  onTurn: ({ type, isTrue, message }) => process.stdout.write(`${JSON.stringify({ type, isTrue, message })}\n`),
})
const detection = new Detection({
  ...base,
  environment: {},
  client,
  server: 'https://192.0.2.1',
  agentEvents: agentEvents({ client, clock: systemClock, machine: 'm', machineUid: () => undefined }),
  node: 'n',
  nodeUid: () => undefined,
  config: detect,
  board,
  machineClass: () => undefined,
  components,
})
await board.start()
await detection.start()
// Lives as long as its test.
process.stdin.on('end', () => process.exit(0)).resume()

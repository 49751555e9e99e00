// The single file of a bundled agent: runs it, after joining the host (`agent.mjs join …`), or leaves the host (`agent.mjs leave …`).
import { argv, exit } from 'node:process'
import { keepOthersFromWriting } from '#lib/private-folder.ts'

keepOthersFromWriting()
const [first, ...rest] = argv.slice(2)
if (first === 'join') {
  const { joinMain } = await import('#agent/join/join-host.ts')
  exit(await joinMain(rest))
}
if (first === 'leave') {
  const { leaveMain } = await import('#agent/join/leave-host.ts')
  exit(await leaveMain(rest))
}
const { main } = await import('#programs/agent-program.ts')
exit(await main(argv.slice(2)))

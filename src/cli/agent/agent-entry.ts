// The one file of a bundled agent: runs it, or joins the host first (`agent.mjs join …`).
import { argv, exit } from 'node:process'
import { keepOthersFromWriting } from '#lib/private-folder.ts'

keepOthersFromWriting()
const [first, ...rest] = argv.slice(2)
if (first === 'join') {
  const { joinMain } = await import('./join-host.ts')
  exit(await joinMain(rest))
}
const { main } = await import('../agent-program.ts')
exit(await main(argv.slice(2)))

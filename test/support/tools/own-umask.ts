// Each file begins with the mode of new files that the runner was started with. Programs that a test runs in its own process close theirs to others, and files
// after it in the same worker would make folders that no other user can enter.
import { afterAll } from 'vitest'

const before = process.umask()
afterAll(() => void process.umask(before))

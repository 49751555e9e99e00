// The properties of every file draw from the seed of the run. Loaded before each file of tests.
import fc from 'fast-check'
import { testSeed } from './seed.ts'

fc.configureGlobal({ seed: testSeed })

// The version of everything that is shipped together: controllers, agent, commands. The one place that names it is the package; a bundle carries it along.
import manifest from '../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version

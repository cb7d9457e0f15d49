// The informer of @kubernetes/client-node, as a program: watches the ConfigMaps of a namespace and
// writes one line for everything it is told: {"event":"add","name":…,"version":…}. Ends when it is
// ended; after four minutes by itself, so that nothing is left behind.
import { KubeConfig, CoreV1Api, makeInformer } from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromFile(process.env.KUBECONFIG);
const api = config.makeApiClient(CoreV1Api);
const namespace = 'default';
const say = (event, object) =>
  process.stdout.write(
    JSON.stringify({ event, name: object?.metadata?.name, version: object?.metadata?.resourceVersion }) + '\n',
  );

const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => {
  say('list');
  return api.listNamespacedConfigMap({ namespace });
});
for (const event of ['add', 'update', 'delete']) informer.on(event, (object) => say(event, object));
informer.on('connect', () => say('connect'));
// A lost connection is reported as an error; going on is the program's business, as in every operator.
informer.on('error', (error) => {
  process.stderr.write(`${error}\n`);
  setTimeout(() => informer.start(), 20);
});
await informer.start();
setTimeout(() => process.exit(1), 240_000);

import { describeFileStore } from './file-store-suite.ts';

describeFileStore('local', () =>
  Promise.resolve({
    settings: {
      driver: 'local',
      s3Bucket: '',
      s3Region: '',
      s3Endpoint: '',
      s3AccessKeyId: '',
      s3SecretAccessKey: '',
    },
    keys: () => [],
    close: () => Promise.resolve(),
  }),
);
